/**
 * Makes digests of files. A file is read in small parts, and the digest of each is made on a thread: the event loop has
 * only the digests to put together.
 */

import { createHash, subtle } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';
import { TritonError } from '../../../errors.js';
import type { ListedModel, StampedEntry } from '../model-source.js';

/** How much of a file is in memory. */
const partBytes = 2 ** 20;

/** A pipe that took the file's place is not waited for. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * The digest of a file's content; undefined if it is not a file of this size any more, or cannot be read.
 *
 * @throws {@link TritonError} CANCELLED once the signal is aborted.
 */
export async function digestOf(
  { name, path }: ListedModel,
  entry: StampedEntry,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { size } = entry;
  if (size === undefined) return undefined;
  let file: FileHandle | undefined;
  try {
    file = await open(`${path}${sep}${entry.path}`, flags);
    const found = await file.stat();
    if (!found.isFile() || found.size !== size) return undefined;
    const whole = createHash('sha256');
    const part = Buffer.allocUnsafeSlow(Math.min(size, partBytes));
    for (let done = 0; done < size;) {
      throwIfAborted(signal, name);
      const bytes = part.subarray(0, Math.min(part.length, size - done));
      if (!(await fill(file, bytes, done))) return undefined;
      whole.update(new Uint8Array(await subtle.digest('SHA-256', bytes)));
      done += bytes.length;
    }
    return whole.digest('base64');
  } catch (error) {
    if (error instanceof TritonError) throw error;
    return undefined;
  } finally {
    await file?.close().catch(() => undefined);
  }
}

/** Reads from a place on until the buffer is full, so that equal files have equal parts. False at the file's end. */
async function fill(file: FileHandle, bytes: Buffer, place: number): Promise<boolean> {
  for (let read = 0; read < bytes.length;) {
    const { bytesRead } = await file.read(bytes, read, bytes.length - read, place + read);
    if (bytesRead === 0) return false;
    read += bytesRead;
  }
  return true;
}

function throwIfAborted(signal: AbortSignal, model: string): void {
  if (signal.aborted)
    throw new TritonError('CANCELLED', `model '${model}': reading its files was cancelled`, { model });
}
