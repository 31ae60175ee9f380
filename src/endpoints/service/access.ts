/** Restricts groups of calls to clients with a secret. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { checkKeys, checkObject, expected, readList } from '../../argument-checks.js';
import { invalidArgument } from '../../errors.js';

/** Groups of calls, and the header and secret that they need. */
export interface Restriction<Group extends string = string> {
  readonly protocols: readonly Group[];
  /** Lower case. */
  readonly header: string;
  readonly value: string;
}

/**
 * Checks an option `restricted`.
 *
 * @param groups - All valid groups.
 * @throws {@link TritonError} INVALID_ARG for an invalid value.
 */
export function readRestrictions<Group extends string>(
  given: unknown,
  groups: readonly Group[],
): Restriction<Group>[] {
  if (given === undefined) return [];
  const seen = new Set<string>();
  return readList(given, 'an array', 'options.restricted').map((one, i) => {
    const path = `options.restricted[${i}]`;
    checkObject(one, path);
    checkKeys(one, ['protocols', 'header', 'value'], path);
    const { protocols, header, value }: { readonly [K in keyof Restriction]?: unknown } = one;
    const names = readList(protocols, 'an array of groups of calls', `${path}.protocols`);
    if (names.length === 0) throw expected('an array of groups of calls', `${path}.protocols`, protocols);
    const found = names.map((name) => {
      const group = groups.find((known) => known === name);
      if (group === undefined) throw expected(`one of ${groups.join(', ')}`, `${path}.protocols`, name);
      if (seen.has(group)) throw invalidArgument(`${path}: '${group}' is restricted twice`);
      seen.add(group);
      return group;
    });
    if (typeof header !== 'string' || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(header))
      throw expected("a header's name", `${path}.header`, header);
    // The message must not show the secret.
    if (typeof value !== 'string' || value === '')
      throw invalidArgument(`expected a non-empty string for ${path}.value`);
    if (/^\s|\s$|[\0-\x08\x0a-\x1f\x7f]/.test(value))
      throw invalidArgument(
        `${path}.value: expected no space at either end and no control character, because headers cannot carry them`,
      );
    return { protocols: found, header: header.toLowerCase(), value };
  });
}

/** A digest of fixed length. Comparing digests does not reveal the secret's length. */
function digestOf(text: string, encoding: 'latin1' | 'utf8'): Buffer {
  return createHash('sha256').update(text, encoding).digest();
}

/**
 * Digests of the secret in each encoding that clients use. Node decodes headers as Latin-1; some clients send
 * UTF-8, and some Latin-1, which cannot encode every secret.
 */
function encodings(secret: string): Buffer[] {
  const utf8 = digestOf(secret, 'utf8');
  return Array.from(secret).every((character) => character <= '\xff')
    ? [utf8, digestOf(secret, 'latin1')]
    : [utf8];
}

interface Secret {
  readonly header: string;
  readonly digests: readonly Buffer[];
}

/** See the head of this file. */
export class GroupAccess {
  readonly #secrets: ReadonlyMap<string, Secret>;

  constructor(restrictions: readonly Restriction[]) {
    this.#secrets = new Map(
      restrictions.flatMap(({ protocols, header, value }) => {
        const secret = { header, digests: encodings(value) };
        return protocols.map((group): [string, Secret] => [group, secret]);
      }),
    );
  }

  /** Whether calls of a group need a secret. */
  restricts(group: string): boolean {
    return this.#secrets.has(group);
  }

  /** The header that is missing or wrong; undefined if the call may be made. */
  refusedFor(group: string, headers: IncomingHttpHeaders): string | undefined {
    const secret = this.#secrets.get(group);
    if (secret === undefined) return undefined;
    const given = headers[secret.header];
    if (typeof given !== 'string') return secret.header;
    const digest = digestOf(given, 'latin1');
    const equal = secret.digests.filter((one) => timingSafeEqual(digest, one));
    return equal.length > 0 ? undefined : secret.header;
  }
}
