/** A model's folder as the objects of a store make it: keys are paths, and a folder is what keys have in common. */

import { TritonError } from '../../../errors.js';
import { printableLine } from '../../../printable.js';
import { givingWay } from '../../give-way.js';
import { configName, misnamedConfig, versionName, versionsAmong } from '../layout.js';
import type { ModelFiles, StampedEntry } from '../model-source.js';
import { mostObjects, type StoredObject } from './object-store.js';

/** See the head of this file. */
export interface ModelTree {
  /** By their path in the model's folder. */
  readonly files: ReadonlyMap<string, StoredObject>;
  readonly folders: ReadonlySet<string>;
  /** Three texts for each entry, with zeros between them, which no path has. A folder has no size. */
  readonly stamp: string;
}

/** The longest name of a file, and the longest path in a model, in bytes, that all systems take. */
const mostNameBytes = 255;
const mostPathBytes = 2048;

/** How many folders may be inside each other, as in a folder of this machine. */
const mostDepth = 32;

/** How many characters a stamp may have: a longer text may be none of JavaScript. */
const mostStampLength = 2 ** 28;

/** A path has only good names if it has none of these, and is so short that no name is too long in UTF-8, and it cannot be too deep. */
const suspicious = /(?:^|\/)\.{0,2}(?:\/|$)|[\\\0]/;
const shortPath = Math.min(Math.floor(mostNameBytes / 3), 2 * mostDepth);

/**
 * Makes the tree of a model. Polls do it for each model, and one may have a hundred thousand objects: it takes several turns of
 * the event loop then.
 *
 * @param prefix - What its keys begin with, with a slash at its end.
 * @param objects - All of them, by key.
 * @param most - How many files and folders it may have.
 * @throws {@link TritonError} INVALID_ARG for a key that is no path of a file in the model's folder, and for too many.
 */
export async function treeOf(
  model: string,
  prefix: string,
  objects: readonly StoredObject[],
  most: number = mostObjects,
): Promise<ModelTree> {
  const files = new Map<string, StoredObject>();
  const folders = new Set<string>();
  const refuse = (key: string, why: string): TritonError =>
    new TritonError('INVALID_ARG', `model '${model}': the key '${printableLine(key)}' ${why}`, { model });
  const step = givingWay();
  let length = 0;
  for (const object of objects) {
    const turn = step();
    if (turn) await turn;
    const path = object.key.slice(prefix.length);
    // Some programs write an empty object for a folder.
    const isMarker = path === '' || path.endsWith('/');
    if (suspicious.test(path) || path.length > shortPath) {
      const wrong = path
        .split('/')
        .slice(0, isMarker ? -1 : undefined)
        .map(whyNoName)
        .find((why) => why !== undefined);
      if (wrong !== undefined)
        throw refuse(object.key, `has a part that cannot be the name of a file: ${wrong}`);
      if (Buffer.byteLength(path) > mostPathBytes)
        throw refuse(object.key, `is longer than ${mostPathBytes} bytes`);
      if (path.split('/', mostDepth + 2).length > mostDepth + 1)
        throw refuse(object.key, `has more than ${mostDepth} folders inside each other`);
      if (isMarker && object.size > 0)
        throw refuse(object.key, 'ends with a slash, as a folder does, and has content');
    }
    if (!isMarker) files.set(path, object);
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
      length += folder.length + 3;
      const next = step();
      if (next) await next;
    }
    length += path.length + object.stamp.length + 16;
    if (files.size + folders.size > most)
      throw refuse(object.key, `is of a model with more than ${most} files and folders`);
    if (length > mostStampLength)
      throw refuse(
        object.key,
        `is too much: all keys and etags have more than ${mostStampLength} characters`,
      );
  }
  for (const path of folders) {
    const turn = step();
    if (turn) await turn;
    if (files.has(path))
      throw refuse(`${prefix}${path}`, 'is an object, and other keys have it as their folder');
  }
  const texts: string[] = [];
  for (const path of folders) {
    const turn = step();
    if (turn) await turn;
    texts.push(path, '', 'd');
  }
  for (const [path, { size, stamp }] of files) {
    const turn = step();
    if (turn) await turn;
    texts.push(path, String(size), stamp);
  }
  return { files, folders, stamp: texts.join('\0') };
}

/** Why a part of a key cannot be a name; undefined if it can. */
export function whyNoName(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (name === '.' || name === '..') return `'${name}' leads elsewhere`;
  if (name.includes('\\') || name.includes('\0')) return 'it has a backslash or a zero';
  return Buffer.byteLength(name) > mostNameBytes ? `it is longer than ${mostNameBytes} bytes` : undefined;
}

/** What a tree has, as a load asks for it. */
export function layoutOf({ files, folders }: ModelTree): Omit<ModelFiles, 'config'> {
  const top = [...folders].filter((path) => !path.includes('/'));
  const entries = new Map<string, Map<string, boolean>>();
  for (const [all, isFolder] of [
    [folders, true],
    [files.keys(), false],
  ] as const) {
    for (const path of all) {
      const slash = path.indexOf('/');
      if (slash < 0) continue;
      const folder = path.slice(0, slash);
      const end = path.indexOf('/', slash + 1);
      // What is deeper is in a folder that is here, too.
      if (end >= 0) continue;
      const inside = entries.get(folder) ?? new Map<string, boolean>();
      entries.set(folder, inside.set(path.slice(slash + 1), isFolder));
    }
  }
  // As for folders, the first one by name that has any entry.
  const first = top
    .filter((name) => versionName.test(name) && entries.has(name))
    .sort()
    .at(0);
  const misnamed = files.has(configName)
    ? undefined
    : [...files.keys()].find((path) => misnamedConfig.test(path));
  return {
    versions: versionsAmong(top),
    firstVersionEntries: [...(entries.get(first ?? '') ?? [])].map(([name, isDirectory]) => ({
      name,
      isDirectory,
    })),
    ...(misnamed !== undefined && { misnamedConfig: misnamed }),
  };
}

/** The entries of a stamp of {@link treeOf}. Many take several turns of the event loop. */
export async function entriesOfTree(stamp: string): Promise<StampedEntry[]> {
  const entries: StampedEntry[] = [];
  if (stamp === '') return entries;
  const step = givingWay();
  let at = 0;
  // One text after the other: to split all at once would hold the event loop.
  const next = (): string => {
    const end = stamp.indexOf('\0', at);
    const text = end < 0 ? stamp.slice(at) : stamp.slice(at, end);
    at = end < 0 ? stamp.length + 1 : end + 1;
    return text;
  };
  while (at <= stamp.length) {
    const turn = step();
    if (turn) await turn;
    const path = next();
    const size = next();
    entries.push({ path, size: size === '' ? undefined : Number(size), stamp: next() });
  }
  return entries;
}

/** The files that versions need: their own, and those beside the version folders. */
export async function filesOfVersions(
  { files, folders }: ModelTree,
  versions: readonly number[],
): Promise<(readonly [path: string, object: StoredObject])[]> {
  const isNeeded = neededBy(folders, versions);
  const needed: (readonly [string, StoredObject])[] = [];
  const step = givingWay();
  for (const file of files) {
    const turn = step();
    if (turn) await turn;
    const [path] = file;
    if (path.indexOf('/') < 0 || isNeeded(path)) needed.push(file);
  }
  return needed;
}

/** The folders that versions need in the same way: some may have nothing in them. */
export function foldersOfVersions({ folders }: ModelTree, versions: readonly number[]): string[] {
  return [...folders].filter(neededBy(folders, versions));
}

/** Whether a path is not below the folder of another version. */
function neededBy(folders: ReadonlySet<string>, versions: readonly number[]): (path: string) => boolean {
  const others = new Set([...folders].filter((path) => versionName.test(path)));
  for (const version of versions) others.delete(String(version));
  return (path) => {
    const slash = path.indexOf('/');
    return !others.has(slash < 0 ? path : path.slice(0, slash));
  };
}
