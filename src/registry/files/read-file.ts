/**
 * Reads files of a model safely, after its source has made them local. A path may lead to anything: it never reads more than is needed, and
 * never waits for something without an end.
 */

import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { thrownText } from '../../thrown-text.js';

/** A file that is too large to be read. */
export class TooLargeError extends Error {
  /** The file's size in bytes. */
  readonly size: number;

  constructor(size: number, mostBytes: number) {
    super(`the file has ${size} bytes; at most ${mostBytes} are read`);
    this.size = size;
  }
}

/** Why a file cannot be read. Node's text for a missing file has its path once more. */
export function whyUnread(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'there is no such file';
  return thrownText(error);
}

/**
 * The bytes of a file. Its size is checked first. A file that grows meanwhile or has no size is refused as
 * well.
 *
 * @throws {TooLargeError} For a file with more than `mostBytes`.
 * @throws {Error} For a file that cannot be read, or is no regular file: a pipe or device may never end.
 */
export async function readAtMost(file: string, mostBytes: number): Promise<Buffer> {
  return readTo(file, mostBytes, mostBytes);
}

/**
 * The first bytes of a file; all of them, if it has fewer.
 *
 * @throws {Error} For a file that cannot be read, or is no regular file.
 */
export async function readBeginning(file: string, bytes: number): Promise<Buffer> {
  const read = await readTo(file, bytes, Infinity);
  return read.subarray(0, bytes);
}

/** Reads `bytes` bytes, and one more to see whether there are more. A file of more than `mostBytes` is refused. */
async function readTo(file: string, bytes: number, mostBytes: number): Promise<Buffer> {
  // This comes before the open, which some devices notice.
  checkFile(await stat(file), mostBytes);
  // Another file may have taken its place: opening a pipe would wait for its writer. (Windows has no such
  // flag; the missing value counts as 0.)
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    checkFile(await handle.stat(), mostBytes);
    const chunks: Buffer[] = [];
    let size = 0;
    // `end` is the last byte that is read, so one byte more than is wanted.
    const stream = handle.createReadStream({ end: bytes, autoClose: false });
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
  if (!found.isFile()) throw new Error('it is not a regular file');
  if (found.size > mostBytes) throw new TooLargeError(found.size, mostBytes);
}
