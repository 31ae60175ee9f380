/** Writes a changed configuration in place of the one before, in one step. */

import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, open, readFile, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FileChange } from '../../analyze/analyze.js';
import { invalidArgument, TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';

/**
 * Refuses configurations that cannot be written before anything is measured.
 *
 * @throws {@link TritonError} INVALID_ARG for the first such file.
 */
export async function checkConfigs(files: readonly string[]): Promise<void> {
  for (const file of files) {
    try {
      // The file is replaced, so that its folder has to be writable.
      await access(dirname(await targetOf(file)), constants.W_OK);
    } catch (cause) {
      throw invalidArgument(`--write: ${file} cannot be written: ${thrownText(cause)}`, { cause });
    }
  }
}

/**
 * Writes a change. Readers see the old file or the new one, and never a part. Its owner and mode stay.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file was changed since it was read, or cannot be written.
 */
export async function writeConfig({ file, before, after }: FileChange): Promise<void> {
  const refuse = (why: string, cause?: unknown): TritonError =>
    new TritonError('UNAVAILABLE', `${file} was not written: ${why}`, { cause, reason: 'SYSTEM_REFUSED' });
  let part: string | undefined;
  try {
    const target = await targetOf(file);
    const now = await unlessMissing(readFile(target, 'utf8'));
    if (now !== before) throw refuse('it was changed since the analysis began');
    part = `${target}.${randomBytes(6).toString('hex')}`;
    const handle = await open(part, 'wx');
    try {
      if (before !== undefined) await keepOwner(handle, target, refuse);
      await handle.writeFile(after);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, target);
  } catch (error) {
    if (part !== undefined) await rm(part, { force: true });
    throw error instanceof TritonError ? error : refuse(thrownText(error), error);
  }
}

/** A link stays a link: the file that it leads to is written. */
async function targetOf(file: string): Promise<string> {
  return (await unlessMissing(lstat(file))) === undefined ? file : await realpath(file);
}

/** A change of the owner takes set-user-ID bits away, so that the mode comes after it. */
async function keepOwner(
  handle: FileHandle,
  target: string,
  refuse: (why: string, cause?: unknown) => TritonError,
): Promise<void> {
  const { uid, gid, mode } = await stat(target);
  const own = await handle.stat();
  if (own.uid !== uid || own.gid !== gid)
    try {
      await handle.chown(uid, gid);
    } catch (cause) {
      throw refuse(
        `it belongs to user ${uid} and group ${gid}, which it would lose: ${thrownText(cause)}`,
        cause,
      );
    }
  await handle.chmod(mode & 0o7777);
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
