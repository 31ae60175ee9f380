/** Which calls a request may make: those of restricted groups need a header with a secret. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { RestrictedCalls } from './options.js';
import type { RestrictedGroup } from './routes.js';

interface Secret {
  readonly header: string;
  readonly digest: Buffer;
}

/** Digests have one length, so that comparing them tells nothing of the secret's. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** See the head of this file. */
export class Access {
  readonly #secrets: ReadonlyMap<RestrictedGroup, Secret>;

  constructor(restricted: readonly RestrictedCalls[]) {
    this.#secrets = new Map(
      restricted.flatMap(({ protocols, header, value }) => {
        const secret = { header, digest: digestOf(value) };
        return protocols.map((group): [RestrictedGroup, Secret] => [group, secret]);
      }),
    );
  }

  /** The header that is missing or wrong; undefined if the call may be made. */
  refusedFor(group: RestrictedGroup, headers: IncomingHttpHeaders): string | undefined {
    const secret = this.#secrets.get(group);
    if (secret === undefined) return undefined;
    const given = headers[secret.header];
    const allowed = typeof given === 'string' && timingSafeEqual(digestOf(given), secret.digest);
    return allowed ? undefined : secret.header;
  }
}
