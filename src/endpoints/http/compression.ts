/** Compressed bodies: which a request has, and which its answer gets. */

import { deflate, gzip } from 'node:zlib';

/** What an answer is compressed with. */
export type Encoding = 'gzip' | 'deflate' | 'identity';

const known: readonly string[] = ['gzip', 'deflate', 'identity'] satisfies readonly Encoding[];

/** The encoding of a request's body: plain, compressed, or one that is not known. */
export function requestEncoding(header: string | undefined): 'plain' | 'compressed' | 'unknown' {
  const name = header?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return 'plain';
  return name === 'gzip' || name === 'deflate' ? 'compressed' : 'unknown';
}

/** The encoding of an answer: the one with the highest weight, the first of equal ones; others than ours do not count. */
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
      best = name as Encoding; // It is one of the known ones.
      bestWeight = weight;
    }
  }
  return best;
}

/** Compresses an answer. Where that fails, `done` gets undefined, and the answer goes as it is. */
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
