/**
 * Searches for libraries where the system's loader would find them, without opening them. Opening a library may
 * take most of a second, and runs its code.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const cacheFile = '/etc/ld.so.cache';

/** The text that begins glibc's cache. */
const cacheMagic = 'glibc-ld.so.cache1.1';

/** The flags of libraries for this processor in the cache. */
const cacheFlags: Readonly<Partial<Record<NodeJS.Architecture, number>>> = { x64: 0x0303, arm64: 0x0a03 };

/** Folders that the loader searches without a cache, and the usual folders of unpacked archives. */
const usualFolders: readonly string[] = ['/lib64', '/usr/lib64', '/lib', '/usr/lib', '/usr/local/lib'];

/**
 * The libraries for this processor in a cache of `ldconfig`: their paths, by name.
 *
 * @param cache - The content of the file. A file of another format yields no libraries.
 */
export function readLoaderCache(cache: Buffer): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const start = cache.indexOf(cacheMagic, 0, 'latin1');
  const table = start < 0 ? Buffer.alloc(0) : cache.subarray(start);
  const header = 48;
  const size = 24;
  if (table.length < header) return found;
  const text = (offset: number): string => {
    const end = table.indexOf(0, offset);
    return end < 0 ? '' : table.toString('utf8', offset, end);
  };
  const count = Math.min(table.readUInt32LE(20), Math.floor((table.length - header) / size));
  for (let at = header; at < header + count * size; at += size) {
    if (table.readInt32LE(at) !== cacheFlags[process.arch]) continue;
    const name = text(table.readUInt32LE(at + 4));
    // The loader uses the first entry.
    if (!found.has(name)) found.set(name, text(table.readUInt32LE(at + 8)));
  }
  return found;
}

function loaderCache(): ReadonlyMap<string, string> {
  try {
    return readLoaderCache(readFileSync(cacheFile));
  } catch {
    return new Map(); // Systems with another loader have no such file.
  }
}

/** The folders that the user has the loader search first. */
function ownFolders(env: NodeJS.ProcessEnv): readonly string[] {
  return (env['LD_LIBRARY_PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
}

/**
 * The first existing file of the given library names: in the folders of `LD_LIBRARY_PATH`, in the loader's
 * cache, or in the usual folders. If none exists, the places that were searched.
 *
 * @param names - File names of the library, the preferred one first.
 * @param moreFolders - Further folders to search.
 */
export function findLibrary(
  names: readonly string[],
  moreFolders: readonly string[] = [],
): { readonly path: string } | { readonly lookedIn: readonly string[] } {
  const own = ownFolders(process.env);
  const others = [...usualFolders, ...moreFolders];
  const cache = loaderCache();
  const inFolders = (folders: readonly string[], name: string): string | undefined =>
    folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  for (const name of names) {
    const cached = cache.get(name);
    const path =
      inFolders(own, name) ??
      (cached !== undefined && existsSync(cached) ? cached : undefined) ??
      inFolders(others, name);
    if (path !== undefined) return { path };
  }
  return { lookedIn: [...own, cacheFile, ...others] };
}

/**
 * Does the same as {@link findLibrary} for a library whose name has a version that is not known before. If a place has
 * several, the first one by `order`.
 *
 * @param pattern - What the library's name must match.
 * @param order - Compares two names, the preferred one first.
 */
export function findLibraryLike(
  pattern: RegExp,
  order: (a: string, b: string) => number,
  moreFolders: readonly string[] = [],
  env: NodeJS.ProcessEnv = process.env,
): { readonly path: string } | { readonly lookedIn: readonly string[] } {
  const inFolder = (folder: string): string | undefined => {
    const [name] = listed(folder)
      .filter((one) => pattern.test(one))
      .sort(order);
    return name === undefined ? undefined : join(folder, name);
  };
  const firstOf = (folders: readonly string[]): string | undefined =>
    folders.map(inFolder).find((file) => file !== undefined);
  const own = ownFolders(env);
  const others = [...usualFolders, ...moreFolders];
  const cached = (): string | undefined =>
    [...loaderCache()]
      .filter(([name, file]) => pattern.test(name) && existsSync(file))
      .sort(([a], [b]) => order(a, b))[0]?.[1];
  const path = firstOf(own) ?? cached() ?? firstOf(others);
  return path === undefined ? { lookedIn: [...own, cacheFile, ...others] } : { path };
}

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // The folder does not exist, or may not be read.
  }
}
