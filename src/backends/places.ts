/**
 * Where the configuration of a model may name files that are run or written: whoever writes a repository is not to reach
 * other files of the machine by it. Links are followed before places are compared, and what is returned has none.
 */

import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { BackendContext } from './backend.js';

/** A folder, and what messages call it. */
export interface Place {
  readonly folder: string;
  readonly name: string;
}

/** The folders of a model and those that `trustedFolders` names. */
export function ownPlaces({ modelDirectory, trustedFolders }: BackendContext): Place[] {
  return [
    ...(modelDirectory === undefined ? [] : [{ folder: modelDirectory, name: "the model's folder" }]),
    ...trustedFolders.map((folder) => ({ folder, name: 'a trusted folder' })),
  ];
}

/**
 * The real path of a file that a configuration names; it need not exist. Relative paths start at the model's folder.
 *
 * @param field - Where it is named.
 * @param written - As it is written there.
 * @param places - Where it may be.
 * @throws {TritonError} INVALID_ARG for one that is elsewhere, or that cannot be followed.
 */
export function confined(
  context: BackendContext,
  field: string,
  written: string,
  places: readonly Place[],
): string {
  return follow(context, field, written, written, places);
}

/** {@link confined}, of a part of what is written. */
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
  // Paths are handed on in lines.
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
 * The real path of the beginning of files to be written, as {@link confined}. The files that are there and begin so must
 * be files: a link would be written through.
 *
 * @throws {TritonError} INVALID_ARG as {@link confined}, and for a link or another thing of that beginning.
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
  // Not joined: `..` is the beginning of a name here.
  if (other === undefined) return `${folder}${sep}${prefix}`;
  const text = `'${other.name}' in '${folder}' is a link or folder; only files may begin like what is written`;
  throw context.fault(field, text);
}

function entries(folder: string): ReturnType<typeof listed> {
  try {
    return listed(folder);
  } catch {
    return []; // Whoever writes there says why that fails.
  }
}

function listed(folder: string): readonly { readonly name: string; isFile(): boolean }[] {
  return readdirSync(folder, { withFileTypes: true });
}

/** Where a path leads, all links followed, also if its last parts do not exist; undefined where links lead nowhere. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    // Thrown by the file system.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || exists(path)) return undefined;
  }
  const parent = dirname(path);
  const realParent = parent === path ? undefined : realPath(parent);
  return realParent === undefined ? undefined : join(realParent, basename(path));
}

/** Whether there is anything of that name: a link that leads nowhere, say. */
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
