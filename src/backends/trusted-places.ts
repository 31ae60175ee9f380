/**
 * Where a model's configuration may name files that are run or written. Whoever writes a repository must not
 * reach other files of the machine. Links are followed before places are compared, and returned paths contain
 * no links.
 */

import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { BackendContext } from './backend.js';

/** A folder, and its name in messages. */
export interface Place {
  readonly folder: string;
  readonly name: string;
}

/** The folder of a model, and the trusted folders. */
export function ownPlaces({ modelDirectory, trustedFolders }: BackendContext): Place[] {
  return [
    ...(modelDirectory === undefined ? [] : [{ folder: modelDirectory, name: "the model's folder" }]),
    ...trustedFolders.map((folder) => ({ folder, name: 'a trusted folder' })),
  ];
}

/**
 * The real path of a file that a configuration names. The file need not exist. Relative paths start at the
 * model's folder.
 *
 * @param field - The field that names it.
 * @param written - The path as it was written.
 * @param places - The folders where it may be.
 * @throws {@link TritonError} INVALID_ARG for a file elsewhere, and for a path that cannot be followed.
 */
export function confined(
  context: BackendContext,
  field: string,
  written: string,
  places: readonly Place[],
): string {
  return follow(context, field, written, written, places);
}

/** {@link confined} for a part of what was written. */
function follow(
  { modelDirectory, fault }: BackendContext,
  field: string,
  written: string,
  part: string,
  places: readonly Place[],
): string {
  const allowed = places.map(({ folder, name }) => `${name} '${folder}'`);
  const expected =
    (allowed.length === 0 ? 'no file can be named here' : `expected a file in ${allowed.join(' or ')}`) +
    ' (trustedFolders of createServer names more)';
  if (modelDirectory === undefined && !isAbsolute(part)) {
    throw fault(field, `'${written}' is relative, but a model given as bytes has no folder: ${expected}`);
  }
  const real = realPath(resolve(modelDirectory ?? '', part));
  // Paths are handed to the native side one a line.
  if (real === undefined || real.includes('\n'))
    throw fault(field, `'${written}' is no path that can be followed: ${expected}`);
  const isAllowed = places.some(({ folder }) => {
    const realFolder = realPath(folder);
    return realFolder !== undefined && isInside(realFolder, real);
  });
  if (isAllowed) return real;
  throw fault(field, `'${written}' leads to '${real}': ${expected}`);
}

/**
 * The real path of the beginning of files to be written, as {@link confined}. Entries that begin this way
 * must be regular files: to write to a link would write to its target.
 *
 * @throws {@link TritonError} INVALID_ARG as {@link confined}, and for a link or another special entry of
 *   that beginning.
 */
export function confinedPrefix(
  context: BackendContext,
  field: string,
  written: string,
  places: readonly Place[],
): string {
  const folder = follow(context, field, written, dirname(written), places);
  const prefix = basename(written);
  const other = entries(folder).find((entry) => entry.name.startsWith(prefix) && !entry.isFile());
  // This is not `join`: here `..` is the beginning of a file's name.
  if (other === undefined) return `${folder}${sep}${prefix}`;
  const text = `'${other.name}' in '${folder}' is a link or folder; only files may begin like what is written`;
  throw context.fault(field, text);
}

function entries(folder: string): ReturnType<typeof listed> {
  try {
    return listed(folder);
  } catch {
    return []; // Writing there fails with its own reason.
  }
}

function listed(folder: string): readonly { readonly name: string; isFile(): boolean }[] {
  return readdirSync(folder, { withFileTypes: true });
}

/**
 * The target of a path after all links, even if its last parts do not exist; undefined if links lead nowhere.
 */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    // The file system throws such errors.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || exists(path)) return undefined;
  }
  const parent = dirname(path);
  const realParent = parent === path ? undefined : realPath(parent);
  return realParent === undefined ? undefined : join(realParent, basename(path));
}

/** Whether an entry of that name exists. A link that leads nowhere is one. */
function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
