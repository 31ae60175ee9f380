/** Writes a changed configuration in place of the one before, in one step. */

import { randomBytes } from 'node:crypto';
import { chmod, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import type { FileChange } from '../../analyze/analyze.js';
import { TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';

/**
 * Writes a change. Readers see the old file or the new one, and never a part.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file was changed since it was read, or cannot be written.
 */
export async function writeConfig({ file, before, after }: FileChange): Promise<void> {
  const refuse = (why: string, cause?: unknown): TritonError =>
    new TritonError('UNAVAILABLE', `${file} was not written: ${why}`, { cause, reason: 'SYSTEM_REFUSED' });
  let part: string | undefined;
  try {
    // A link stays a link.
    const target = before === undefined ? file : await realpath(file);
    const now = await readFile(target, 'utf8').catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (now !== before) throw refuse('it was changed since the analysis began');
    part = `${target}.${randomBytes(6).toString('hex')}`;
    await writeFile(part, after, { flag: 'wx' });
    if (before !== undefined) await chmod(part, (await stat(target)).mode);
    await rename(part, target);
  } catch (error) {
    if (part !== undefined) await rm(part, { force: true });
    throw error instanceof TritonError ? error : refuse(thrownText(error), error);
  }
}
