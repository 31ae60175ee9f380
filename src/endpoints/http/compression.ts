/** The compression of requests' bodies and of answers. */

import { deflate, gzip } from 'node:zlib';

/** The encoding of an answer. */
export type Encoding = 'gzip' | 'deflate' | 'identity';

const known: readonly string[] = ['gzip', 'deflate', 'identity'] satisfies readonly Encoding[];

/** The encoding of a request's body: plain, compressed, or unknown. */
export function requestEncoding(header: string | undefined): 'plain' | 'compressed' | 'unknown' {
  const name = header?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return 'plain';
  return name === 'gzip' || name === 'deflate' ? 'compressed' : 'unknown';
}

/** The encoding of an answer: the known encoding of the highest weight, or the first among equal weights. */
export function answerEncoding(header: string | undefined): Encoding {
  if (header === undefined) return 'identity';
  let best: Encoding = 'identity';
  let bestWeight = 0;
  for (const part of header.split(',')) {
    const [name = '', ...options] = part.split(';').map((text) => text.trim().toLowerCase());
    if (!known.includes(name)) continue;
    const given = options.find((option) => option.startsWith('q='));
    const weight = given === undefined ? 1 : Number(given.slice(2));
    if (weight > bestWeight) {
      best = name as Encoding; // The name is in `known`.
      bestWeight = weight;
    }
  }
  return best;
}

/** Compresses an answer. If that fails, `done` gets undefined, and the answer is sent uncompressed. */
export function compress(
  encoding: Exclude<Encoding, 'identity'>,
  parts: readonly Buffer[],
  done: (bytes: Buffer | undefined) => void,
): void {
  const method = encoding === 'gzip' ? gzip : deflate;
  method(Buffer.concat(parts), (error, bytes) => {
    done(error === null ? bytes : undefined);
  });
}
