/** Reads files of a repository, which may be anything: never more than is needed, never what has no end. */

import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';

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
  // Before it is opened, which some devices notice.
  checkFile(await stat(file), mostBytes);
  // Another thing may be there now: to open a pipe would wait for its writer. (Windows has no such flag, and counts none.)
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    checkFile(await handle.stat(), mostBytes);
    const chunks: Buffer[] = [];
    let size = 0;
    // `end` is the last byte that is read: one beyond what is allowed.
    const stream = handle.createReadStream({ end: mostBytes, autoClose: false });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
    }
    if (size > mostBytes) throw new TooLargeError(size, mostBytes);
    return Buffer.concat(chunks, size);
  } finally {
    await handle.close();
  }
}

function checkFile(found: Stats, mostBytes: number): void {
  if (found.isDirectory()) throw new Error('it is a folder');
  if (!found.isFile()) throw new Error('it is no regular file');
  if (found.size > mostBytes) throw new TooLargeError(found.size, mostBytes);
}
