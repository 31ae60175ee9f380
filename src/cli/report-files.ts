/** Files that commands write, and the error that they end with. */

import { constants } from 'node:fs';
import { access, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { invalidArgument, TritonError } from '../errors.js';
import { printable } from '../printable.js';
import { thrownText } from '../thrown-text.js';

/** Prints an error. Returns the exit code. */
export function fail(error: unknown, code: number): number {
  const text = error instanceof TritonError ? `${error.code}: ${error.message}` : thrownText(error);
  console.error(printable(`tritonts: ${text}`));
  return code;
}

/**
 * Refuses files that cannot be written before anything is measured.
 *
 * @throws {@link TritonError} INVALID_ARG for the first such file.
 */
export async function checkWritable(files: readonly (string | undefined)[]): Promise<void> {
  for (const file of files) {
    if (file === undefined) continue;
    const found = await stat(file).catch((): undefined => undefined);
    try {
      if (found?.isDirectory() === true) throw new Error('it is a folder');
      if (found === undefined) await stat(`${dirname(file)}/`);
      await access(found === undefined ? dirname(file) : file, constants.W_OK);
    } catch (cause) {
      throw invalidArgument(`${file} cannot be written: ${thrownText(cause)}`, { cause });
    }
  }
}

/**
 * Writes a file.
 *
 * @throws {@link TritonError} UNAVAILABLE if it cannot be written.
 */
export async function writeReport(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (cause) {
    throw new TritonError('UNAVAILABLE', `${file} cannot be written: ${thrownText(cause)}`, {
      cause,
      reason: 'SYSTEM_REFUSED',
    });
  }
}
