/** Reads files of a repository, which may be anything: never more than is needed, never what has no end. */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/** A file that is too large to be read. */
export class TooLargeError extends Error {
  /** Bytes that it has. */
  readonly size: number;

  constructor(size: number, mostBytes: number) {
    super(`the file has ${size} bytes; at most ${mostBytes} are read`);
    this.size = size;
  }
}

/**
 * The bytes of a file. Its size is looked at first, and what grows meanwhile, or tells no size, is given up as well.
 *
 * @throws {TooLargeError} For one of more than `mostBytes`.
 * @throws {Error} For one that cannot be read, or is no regular file: a pipe or device may never end.
 */
export async function readAtMost(file: string, mostBytes: number): Promise<Buffer> {
  const found = await stat(file);
  if (found.isDirectory()) throw new Error('it is a folder');
  if (!found.isFile()) throw new Error('it is no regular file');
  if (found.size > mostBytes) throw new TooLargeError(found.size, mostBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  // `end` is the last byte that is read: one beyond what is allowed.
  for await (const chunk of createReadStream(file, { end: mostBytes }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
  }
  if (size > mostBytes) throw new TooLargeError(size, mostBytes);
  return Buffer.concat(chunks, size);
}
