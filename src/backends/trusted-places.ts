/**
 * The places in which a model's configuration may name files to run or write. The author of a repository must
 * not reach other files of the machine. Links are resolved before paths are compared, and returned paths
 * contain no links.
 */

import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { indexPath } from '../config/index.js';
import type { BackendContext } from './context.js';

/** A folder, and its name in messages. */
export interface Place {
  readonly folder: string;
  readonly name: string;
}

/** The model's folder, and the trusted folders. */
export function ownPlaces({ modelDirectory, trustedFolders }: BackendContext): Place[] {
  return [
    ...(modelDirectory === undefined ? [] : [{ folder: modelDirectory, name: "the model's folder" }]),
    ...trustedFolders.map((folder) => ({ folder, name: 'a trusted folder' })),
  ];
}

/** The path of the configuration field that names a library of custom operators. */
export function operatorsField(index: number): string {
  return indexPath('model_operations.op_library_filename', index);
}

/**
 * Paths of a model's libraries of custom operators, in the order of the configuration. They may lie in the model's folder,
 * beside the runtime's library, and in the server's trusted folders.
 *
 * @param runtime - Gives the path of the runtime's library. It is only called for a model with such libraries.
 * @param title - The runtime's name.
 * @throws {@link TritonError} INVALID_ARG for a file outside of these folders.
 */
export function operatorLibraries(context: BackendContext, runtime: () => string, title: string): string[] {
  const files = context.config.model_operations?.op_library_filename ?? [];
  if (files.length === 0) return [];
  const library = runtime();
  const places = [
    ...ownPlaces(context),
    // The system searches for a name without a folder.
    ...(isAbsolute(library)
      ? [{ folder: dirname(realPath(library) ?? library), name: `the folder of the ${title} library` }]
      : []),
  ];
  return files.map((file, index) => confined(context, operatorsField(index), file, places));
}

/**
 * The real path of a file that a configuration names. The file need not exist. Relative paths start from the
 * model's folder.
 *
 * @param field - The field that names the file.
 * @param written - The path in the configuration.
 * @param places - The allowed folders.
 * @throws {@link TritonError} INVALID_ARG for a file outside of these folders, and for a path that cannot be
 *   resolved.
 */
export function confined(
  context: BackendContext,
  field: string,
  written: string,
  places: readonly Place[],
): string {
  return follow(context, field, written, written, places);
}

/** Does the same as {@link confined} for a part of the path in the configuration. */
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
  // Paths are passed to the native side separated by line feeds.
  if (real === undefined || real.includes('\n'))
    throw fault(field, `'${written}' cannot be resolved as a path: ${expected}`);
  const isAllowed = places.some(({ folder }) => {
    const realFolder = realPath(folder);
    return realFolder !== undefined && isInside(realFolder, real);
  });
  if (isAllowed) return real;
  throw fault(field, `'${written}' leads to '${real}': ${expected}`);
}

/**
 * The real path prefix of files to be written, as {@link confined}. Existing entries with this prefix must be
 * regular files, because writing to a link would write to its target.
 *
 * @throws {@link TritonError} INVALID_ARG as {@link confined}, and for a link or another special entry with
 *   that prefix.
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
  // Not `join`, because a prefix `..` would be taken for the parent folder.
  if (other === undefined) return `${folder}${sep}${prefix}`;
  const text = `'${other.name}' in '${folder}' is a link or folder; expected only files whose names begin with '${prefix}'`;
  throw context.fault(field, text);
}

function entries(folder: string): ReturnType<typeof listed> {
  try {
    return listed(folder);
  } catch {
    return []; // Writing to that folder fails with its own reason.
  }
}

function listed(folder: string): readonly { readonly name: string; isFile(): boolean }[] {
  return readdirSync(folder, { withFileTypes: true });
}

/**
 * The target of a path after resolving all links, even if its last parts do not exist; undefined if a link is
 * broken.
 */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    // The file system throws errors of this type.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || exists(path)) return undefined;
  }
  const parent = dirname(path);
  const realParent = parent === path ? undefined : realPath(parent);
  return realParent === undefined ? undefined : join(realParent, basename(path));
}

/** Whether an entry of that name exists. A broken link is an entry, too. */
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
