/** Google Cloud Storage, through the npm package `@google-cloud/storage`, an optional peer dependency. */

import { Storage, type Bucket } from '@google-cloud/storage';
import { contentCheck } from './content-checks.js';
import { readJson, type StoreCredentials } from './credentials.js';
import { endedBy } from './http-requests.js';
import type { ObjectBody, ObjectStore, StoredObject, StoreFault, StorePage } from './object-store.js';
import { silenceMs } from './retries.js';
import { faultOfCall, PassingFault } from './store-faults.js';
import type { StorePlace } from './store-place.js';

/** The path of the interface for JSON. */
const path = '/storage/v1';

/**
 * Makes a store. It asks nothing of it yet. Without a file of credentials the package looks for others: those of the command
 * `gcloud`, those of the machine, and none at all, for what everybody may read.
 */
export async function openGcs(place: StorePlace, credentials: StoreCredentials): Promise<ObjectStore> {
  const file = credentials.get('file');
  // The package says of a damaged one that a character was not expected.
  if (file !== undefined)
    await readJson(
      file,
      `that ${credentials.isOfFile ? credentials.from : 'GOOGLE_APPLICATION_CREDENTIALS'} names`,
    );
  const storage = new Storage({
    ...(file !== undefined && { keyFilename: file }),
    // Retries are made in one place for all stores.
    retryOptions: { autoRetry: false, maxRetries: 0 },
    timeout: silenceMs,
  });
  // The package closes its own agent's connections, also those of other downloads, after one that fails.
  storage.interceptors.push({ request: withSharedAgent });
  // The package takes the address of an emulator for that of the interface, whose path others append to it.
  if (!storage.apiEndpoint.endsWith(path)) storage.baseUrl = `${storage.apiEndpoint}${path}`;
  const used = [
    `endpoint ${storage.apiEndpoint}`,
    file === undefined
      ? 'the default credentials of the machine, or none'
      : `the credentials in '${file}' of ${credentials.from}`,
  ].join(', ');
  return new GcsStore(storage.bucket(place.bucket), used);
}

/** The request with Node's own agent, which the package does not close. */
function withSharedAgent<T extends object>(options: T): T & { readonly uri: string } {
  // Its types allow for a `url` in place of the `uri`, which it always has.
  return Object.assign(options as T & { readonly uri: string }, { forever: false });
}

class GcsStore implements ObjectStore {
  readonly used: string;
  readonly #bucket: Bucket;

  constructor(bucket: Bucket, used: string) {
    this.#bucket = bucket;
    this.used = used;
  }

  async page(
    prefix: string,
    isDeep: boolean,
    next: string | undefined,
    signal: AbortSignal,
  ): Promise<StorePage> {
    const asked = {
      prefix,
      autoPaginate: false,
      ...(!isDeep && { delimiter: '/' }),
      ...(next !== undefined && { pageToken: next }),
    };
    const [files, query, answer] = await endedBy(signal, () => this.#bucket.getFiles(asked));
    if (!isListing(answer)) throw new PassingFault('an answer that is not a listing');
    const { prefixes } = answer;
    return {
      objects: files.map(({ name, metadata: { size, generation, md5Hash, crc32c } }): StoredObject => ({
        key: name,
        size: Number(size),
        stamp: String(generation),
        ...(md5Hash !== undefined
          ? { checksum: { kind: 'md5', value: md5Hash } }
          : crc32c !== undefined && { checksum: { kind: 'crc32c', value: crc32c } }),
      })),
      folders: prefixes ?? [],
      next: tokenOf(query),
    };
  }

  read({ key, stamp, checksum }: StoredObject, from: number, signal: AbortSignal): Promise<ObjectBody> {
    signal.throwIfAborted();
    // The package compares whole objects only, and would unpack some: what is stored is what is listed.
    const options = { validation: false, decompress: false, ...(from > 0 && { start: from }) };
    const chunks = this.#bucket.file(key, { generation: stamp }).createReadStream(options);
    // The first read makes the request.
    endedBy(signal, () => void chunks.read(0));
    const check = checksum && contentCheck(checksum.kind, checksum.value);
    return Promise.resolve({ chunks, check });
  }

  faultOf(error: unknown): StoreFault {
    // Its errors have these, and anything may be thrown.
    const { code, errors } = (error instanceof Error ? error : {}) as Partial<
      Record<'code' | 'errors', unknown>
    >;
    const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
    const { message, reason } = (first ?? {}) as Partial<Record<'message' | 'reason', unknown>>;
    const status = Number.isInteger(Number(code)) ? Number(code) : undefined;
    const words = status === undefined ? [code] : [reason];
    const fault = faultOfCall(
      typeof message === 'string' && status !== undefined ? new Error(message) : error,
      {
        status,
        code: words.filter((word) => typeof word === 'string').join(''),
      },
    );
    // A generation that is not there any more.
    return status === 404 ? { ...fault, kind: 'changed' } : fault;
  }
}

/** The answer for JSON. An empty one has its kind. */
function isListing(answer: unknown): answer is { readonly prefixes?: readonly string[] } {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    ['kind', 'items', 'prefixes'].some((member) => Object.hasOwn(answer, member))
  );
}

/** The last page has null, which the package's types do not say. */
function tokenOf(query: { readonly pageToken?: string } | null): string | undefined {
  return query?.pageToken;
}
