/** Which calls a request may make: those of restricted groups need a header with a secret. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { RestrictedCalls } from './options.js';
import type { RestrictedGroup } from './routes.js';

interface Secret {
  readonly header: string;
  readonly digests: readonly Buffer[];
}

/** Digests have one length, so that comparing them tells nothing of the secret's. */
function digestOf(text: string, encoding: 'latin1' | 'utf8'): Buffer {
  return createHash('sha256').update(text, encoding).digest();
}

/** Node gives a header's bytes as Latin-1. Some clients write UTF-8, and some Latin-1, in which not every secret can be written. */
function encodings(secret: string): Buffer[] {
  const utf8 = digestOf(secret, 'utf8');
  return Array.from(secret).every((character) => character <= '\xff')
    ? [utf8, digestOf(secret, 'latin1')]
    : [utf8];
}

/** See the head of this file. */
export class Access {
  readonly #secrets: ReadonlyMap<RestrictedGroup, Secret>;

  constructor(restricted: readonly RestrictedCalls[]) {
    this.#secrets = new Map(
      restricted.flatMap(({ protocols, header, value }) => {
        const secret = { header, digests: encodings(value) };
        return protocols.map((group): [RestrictedGroup, Secret] => [group, secret]);
      }),
    );
  }

  /** The header that is missing or wrong; undefined if the call may be made. */
  refusedFor(group: RestrictedGroup, headers: IncomingHttpHeaders): string | undefined {
    const secret = this.#secrets.get(group);
    if (secret === undefined) return undefined;
    const given = headers[secret.header];
    if (typeof given !== 'string') return secret.header;
    const digest = digestOf(given, 'latin1');
    const equal = secret.digests.filter((one) => timingSafeEqual(digest, one));
    return equal.length > 0 ? undefined : secret.header;
  }
}
