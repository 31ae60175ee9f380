/**
 * Finds the credentials of a store: in the file that TRITON_CLOUD_CREDENTIAL_PATH names, or else in the environment. With the
 * file the environment does not count. What is secret is never part of a message.
 */

import { readFile } from 'node:fs/promises';
import { TritonError, unavailable } from '../../../errors.js';
import { canonicalAddress, type StorePlace, type StoreScheme } from './store-place.js';

/** Credentials by the names that they have in the file, and where they are from. An absent one is empty. */
export interface StoreCredentials {
  /** For messages, such as `the environment`. */
  readonly from: string;
  /** Whether they are of a file, which may have others by now. */
  readonly isOfFile: boolean;
  /** The value of a field; undefined if there is none. */
  readonly get: (field: string) => string | undefined;
}

/** The variables that have the fields of the file. A later one counts if an earlier one has nothing. */
const variables: Readonly<Record<StoreScheme, Readonly<Record<string, readonly string[]>>>> = {
  s3: {
    key_id: ['AWS_ACCESS_KEY_ID'],
    secret_key: ['AWS_SECRET_ACCESS_KEY'],
    session_token: ['AWS_SESSION_TOKEN'],
    region: ['AWS_DEFAULT_REGION', 'AWS_REGION'],
    profile: ['AWS_PROFILE'],
  },
  gs: { file: ['GOOGLE_APPLICATION_CREDENTIALS'] },
  as: {
    account_str: ['AZURE_STORAGE_ACCOUNT'],
    account_key: ['AZURE_STORAGE_KEY'],
    auth_type: ['AZURE_STORAGE_AUTH_TYPE'],
    client_id: ['AZURE_STORAGE_CLIENT_ID'],
  },
};

/** The variable that names the file. */
const fileVariable = 'TRITON_CLOUD_CREDENTIAL_PATH';

/**
 * Finds the credentials for a place.
 *
 * @param env - The environment.
 * @throws {@link TritonError} NOT_FOUND if the file is missing or has no entry for the place, UNAVAILABLE if it cannot be read,
 *   INVALID_ARG if its content is of another form.
 */
export async function credentialsFor(place: StorePlace, env: NodeJS.ProcessEnv): Promise<StoreCredentials> {
  const file = env[fileVariable];
  if (file !== undefined && file !== '') return await fromFile(place, file);
  const names = variables[place.scheme];
  return {
    from: 'the environment',
    isOfFile: false,
    get: (field) => names[field]?.map((name) => env[name]?.trim()).find((value) => value),
  };
}

async function fromFile({ scheme, url }: StorePlace, file: string): Promise<StoreCredentials> {
  const entries = member(await readJson(file, `that ${fileVariable} names`), scheme);
  // As in Triton the longest name counts that the address begins with.
  const [name] = (isObject(entries) ? Object.keys(entries) : [])
    .filter((one) => `${url}/`.startsWith(canonicalAddress(one)))
    .sort((a, b) => b.length - a.length);
  if (name === undefined) {
    throw new TritonError(
      'NOT_FOUND',
      `model repository '${url}': '${file}', which ${fileVariable} names, has no credentials for it: expected an entry "${scheme}" with "", or with a name that the address begins with`,
    );
  }
  const entry = member(entries, name);
  const from = `the entry "${name}" of "${scheme}" in '${file}'`;
  // Those of Google are in a file of their own.
  if (scheme === 'gs' ? typeof entry !== 'string' : !isObject(entry)) {
    throw new TritonError(
      'INVALID_ARG',
      `model repository '${url}': expected ${scheme === 'gs' ? 'the path of a file with credentials' : 'an object'} as ${from}`,
    );
  }
  return {
    from,
    isOfFile: true,
    get: (field) => {
      const value = scheme === 'gs' && field === 'file' ? entry : member(entry, field);
      if (value === undefined || value === null) return undefined;
      if (typeof value === 'string') return value.trim() || undefined;
      throw new TritonError(
        'INVALID_ARG',
        `model repository '${url}': expected a text as "${field}" in ${from} but received ${typeof value}`,
      );
    },
  };
}

/**
 * Reads a file with credentials.
 *
 * @param what - What names it, for messages.
 * @throws {@link TritonError} NOT_FOUND, UNAVAILABLE, INVALID_ARG as {@link credentialsFor}.
 */
export async function readJson(file: string, what: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const message = `the file with credentials ${what} cannot be read: '${file}' (${code})`;
    throw code === 'ENOENT'
      ? new TritonError('NOT_FOUND', message, { cause })
      : unavailable('SYSTEM_REFUSED', message, { cause });
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message has a part of the text, which may be a key.
    throw new TritonError('INVALID_ARG', `the file with credentials ${what} is no JSON: '${file}'`);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}
