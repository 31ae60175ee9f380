/** Where the files of stores are kept on this machine. */

import { lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { TritonError } from '../../../errors.js';
import type { StoreScheme } from './store-place.js';

/** See the head of this file. */
export interface CachePlace {
  readonly directory: string;
  /** Whether its name is known to everybody, so that somebody else may have made it. */
  readonly isPublic: boolean;
  /** Whether it is on a volume, whose files a system may give to any user and group. */
  readonly isMounted?: boolean;
}

/** Triton's variables for the place of downloads. */
const variables: Readonly<Record<StoreScheme, string>> = {
  s3: 'TRITON_AWS_MOUNT_DIRECTORY',
  gs: 'TRITON_GCS_MOUNT_DIRECTORY',
  as: 'TRITON_AZURE_MOUNT_DIRECTORY',
};

/**
 * The place of a store's files: that of the option, or a folder in that of Triton's variable, or in that for temporary files.
 *
 * @param given - The option.
 */
export function cachePlaceOf(
  scheme: StoreScheme,
  given: string | undefined,
  env: NodeJS.ProcessEnv,
): CachePlace {
  if (given !== undefined) return { directory: given, isPublic: false };
  const mount = env[variables[scheme]];
  if (mount !== undefined && mount !== '') {
    return { directory: resolve(mount, 'tritonts-models'), isPublic: true, isMounted: true };
  }
  const user = process.getuid?.();
  return {
    directory: join(tmpdir(), `tritonts-models${user === undefined ? '' : `-${user}`}`),
    isPublic: true,
  };
}

/**
 * Makes the folder, if it is not there.
 *
 * @throws {@link TritonError} INVALID_ARG for one with a known name that others may write: they could put other models there.
 *   On a volume these are all users: there the owner and the group may be those of the volume.
 */
export async function makePlace({ directory, isPublic, isMounted = false }: CachePlace): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const user = process.getuid?.();
  if (!isPublic || user === undefined) return;
  const found = await lstat(directory);
  const isOwn = isMounted ? (found.mode & 0o002) === 0 : found.uid === user && (found.mode & 0o022) === 0;
  if (found.isDirectory() && isOwn) return;
  throw new TritonError(
    'INVALID_ARG',
    `the cache folder of object stores '${directory}' belongs to another user, or other users may write to that folder: remove the folder, or name another one (repositoryCacheDirectory, --repository-cache-directory)`,
  );
}
