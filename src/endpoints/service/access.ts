/** Calls that only those may make who know a secret: which calls those are, and whether a request has it. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { checkKeys, checkObject, expected } from '../../argument-checks.js';
import { invalidArgument } from '../../errors.js';

/** Groups of calls and the secret that they need. */
export interface Restriction {
  readonly protocols: readonly string[];
  /** Lower case. */
  readonly header: string;
  readonly value: string;
}

/**
 * Checks an option `restricted`.
 *
 * @param groups - The groups that there are.
 * @throws {@link TritonError} INVALID_ARG for anything else.
 */
export function readRestrictions(given: unknown, groups: readonly string[]): Restriction[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw expected('an array', 'options.restricted', given);
  const seen = new Set<string>();
  return given.map((one: unknown, i) => {
    const path = `options.restricted[${i}]`;
    checkObject(one, path);
    checkKeys(one, ['protocols', 'header', 'value'], path);
    const { protocols, header, value }: { readonly [K in keyof Restriction]?: unknown } = one;
    if (!Array.isArray(protocols) || protocols.length === 0)
      throw expected('an array of groups of calls', `${path}.protocols`, protocols);
    const found = protocols.map((group: unknown) => {
      if (typeof group !== 'string' || !groups.includes(group))
        throw expected(`one of ${groups.join(', ')}`, `${path}.protocols`, group);
      if (seen.has(group)) throw invalidArgument(`${path}: '${group}' is restricted twice`);
      seen.add(group);
      return group;
    });
    if (typeof header !== 'string' || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(header))
      throw expected("a header's name", `${path}.header`, header);
    // What is secret is not shown.
    if (typeof value !== 'string' || value === '')
      throw invalidArgument(`expected a text that is not empty for ${path}.value`);
    return { protocols: found, header: header.toLowerCase(), value };
  });
}

/** Digests have one length, so that comparing them tells nothing of the secret's. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** See the head of this file. */
export class GroupAccess {
  readonly #secrets: ReadonlyMap<string, { readonly header: string; readonly digest: Buffer }>;

  constructor(restrictions: readonly Restriction[]) {
    this.#secrets = new Map(
      restrictions.flatMap(({ protocols, header, value }) => {
        const secret = { header, digest: digestOf(value) };
        return protocols.map((group): [string, typeof secret] => [group, secret]);
      }),
    );
  }

  /** The header that is missing or wrong; undefined if the call may be made. */
  refusedFor(group: string, headers: IncomingHttpHeaders): string | undefined {
    const secret = this.#secrets.get(group);
    if (secret === undefined) return undefined;
    const given = headers[secret.header];
    const allowed = typeof given === 'string' && timingSafeEqual(digestOf(given), secret.digest);
    return allowed ? undefined : secret.header;
  }
}
