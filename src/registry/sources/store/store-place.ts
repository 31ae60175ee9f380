/** Reads the address of a model repository in an object store: `s3://…`, `gs://…` or `as://…`. */

import { invalidArgument } from '../../../errors.js';

/** The kinds of stores, by the scheme of their addresses. */
export type StoreScheme = 's3' | 'gs' | 'as';

/** A repository in a store. */
export interface StorePlace {
  readonly scheme: StoreScheme;
  /**
   * The address in one form of the several that mean the same: without repeated and trailing slashes, and without `http://`,
   * which a host with a port has anyway. It names the place in messages and in files of credentials.
   */
  readonly url: string;
  /** Where the store answers, if the address says so: `http://127.0.0.1:7070`. */
  readonly endpoint: string | undefined;
  /** Of Azure: the account that the address names. */
  readonly account: string | undefined;
  /** The bucket; Azure's word is container. */
  readonly bucket: string;
  /** What the keys of the repository begin with: empty, or with a slash at its end. */
  readonly prefix: string;
}

/** Whether a repository's address is that of a store. */
export function isStoreAddress(text: string): boolean {
  return /^(?:s3|gs|as):\/\//i.test(text);
}

/** Whether a text looks like an address, and is none of a store. */
export function isOtherAddress(text: string): boolean {
  if (isStoreAddress(text)) return false;
  return /^[a-z][a-z\d+.-]+:\/\//i.test(text) || /^(?:s3|gs|as):\//i.test(text);
}

const forms: Readonly<Record<StoreScheme, string>> = {
  s3: 's3://<bucket>/<path> or s3://http://<host>:<port>/<bucket>/<path>',
  gs: 'gs://<bucket>/<path>',
  as: 'as://<account>/<container>/<path> or as://http://<host>:<port>/<account>/<container>/<path>',
};

/** An address, or the beginning of one, in the form of {@link StorePlace.url}. A slash at its end stays. */
export function canonicalAddress(text: string): string {
  const [, scheme, protocol = '', first = '', rest = ''] =
    /^(s3|gs|as):\/\/(?:(https?):\/\/)?\/*([^/]*)(.*)$/is.exec(text) ?? [];
  if (scheme === undefined) return text;
  const shown = protocol.toLowerCase() === 'https' ? 'https://' : '';
  const host = first.includes(':') ? first.toLowerCase() : first;
  return `${scheme.toLowerCase()}://${shown}${host}${rest.replace(/\/+/g, '/')}`;
}

/** An address for a message: one that may have a key, a password or a signature in it is not repeated. */
export function shownAddress(text: string): string {
  return /^[a-z][a-z\d+.-]*:\/*(?:https?:\/\/)?(?:\[[\da-f:.]*\])?[^:;=?#@%]*(?::\d{1,5}(?=\/|$))?[^:;=?#@%]*$/i.test(
    text,
  )
    ? `'${text}'`
    : 'one that is not shown here, because a part of it may be secret';
}

/**
 * Reads an address.
 *
 * @param option - The option that has it, for messages.
 * @throws {@link TritonError} INVALID_ARG for an address of another form. The message has nothing of an address that may have
 *   a password or a signature in it.
 */
export function readStorePlace(text: string, option: string): StorePlace {
  const scheme = schemeOf(text);
  if (/[?#@]/.test(text)) {
    throw invalidArgument(
      `expected ${forms[scheme]} for ${option} but received an address with '?', '#' or '@': credentials come from the environment, or from the file that TRITON_CLOUD_CREDENTIAL_PATH names`,
    );
  }
  const [, protocol = '', rest = ''] = /^\w+:\/\/(?:(https?):\/\/)?(.*)$/is.exec(text) ?? [];
  const parts = rest.split('/').filter((part) => part !== '');
  const wrong = (): Error =>
    invalidArgument(`expected ${forms[scheme]} for ${option} but received ${shownAddress(text)}`);
  if (parts.some((part) => part === '.' || part === '..' || /[\u0000-\u001f\u007f\\]/.test(part)))
    throw wrong();
  const url = canonicalAddress(`${scheme}://${protocol === '' ? '' : `${protocol}://`}${parts.join('/')}`);
  const place = read(scheme, protocol.toLowerCase(), parts);
  if (!place) throw wrong();
  const { bucket, path, endpoint, account } = place;
  if (bucket === undefined || !/^[\w.-]+$/.test(bucket)) throw wrong();
  return { scheme, url, endpoint, account, bucket, prefix: path.map((part) => `${part}/`).join('') };
}

function schemeOf(text: string): StoreScheme {
  const scheme = text.slice(0, 2).toLowerCase();
  return scheme === 's3' || scheme === 'gs' ? scheme : 'as';
}

interface Read {
  readonly bucket: string | undefined;
  readonly path: readonly string[];
  readonly endpoint?: string;
  readonly account?: string;
}

/** An account of Azure, or its host. */
const accountOrHost = /^[\w-]+(?:\.[\w.-]+)?$/;

/** A host with its port, which may be in brackets, as an address of IPv6 is. */
const hostAndPort = /^(?:[^:;=%\s[\]]+|\[[\da-f:.]+\]):\d{1,5}$/i;

function read(scheme: StoreScheme, protocol: string, parts: readonly string[]): Read | undefined {
  const [given = '', second = ''] = parts;
  // The host of an account, with the port that it has anyway.
  const isOwnHost = scheme === 'as' && protocol !== 'http' && /^[\w-]+\.blob\.[\w.-]+:443$/i.test(given);
  if (isOwnHost) return read('as', '', [given.slice(0, -':443'.length), ...parts.slice(1)]);
  const first = given.includes(':') ? given.toLowerCase() : given;
  const hasEndpoint = hostAndPort.test(first);
  if (protocol !== '' && (!hasEndpoint || scheme === 'gs')) return undefined;
  const host = `${protocol === '' ? 'http' : protocol}://${first}`;
  switch (scheme) {
    case 's3':
      return hasEndpoint
        ? { endpoint: host, bucket: parts[1], path: parts.slice(2) }
        : { bucket: parts[0], path: parts.slice(1) };
    case 'gs':
      return { bucket: parts[0], path: parts.slice(1) };
    case 'as':
      if (!accountOrHost.test(hasEndpoint ? second : first)) return undefined;
      if (hasEndpoint) {
        return { endpoint: `${host}/${second}`, account: second, bucket: parts[2], path: parts.slice(3) };
      }
      return {
        ...(first.includes('.') && { endpoint: `https://${first}` }),
        account: first.split('.', 1)[0] ?? '',
        bucket: parts[1],
        path: parts.slice(2),
      };
  }
}
