/** A model repository in local folders: which models and versions there are, and what their files say. */

import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { maxConfigBytes, tooManyBytes } from '../config/decode.js';
import { problemsError } from '../config/problems.js';
import { TritonError } from '../errors.js';
import { readAtMost, TooLargeError } from './read-file.js';

/** A model's folder. */
export interface ModelFolder {
  readonly name: string;
  readonly path: string;
}

/** What lies in a model's folder. */
export interface ModelFiles {
  /** Path of config.pbtxt and its bytes; undefined where there is none. */
  readonly config: { readonly file: string; readonly bytes: Uint8Array } | undefined;
  /** Numbers of the version folders, ascending. */
  readonly versions: readonly number[];
  /** Entries of the lexically first sub-folder, which Triton infers the backend from. */
  readonly firstVersionEntries: readonly { readonly name: string; readonly isDirectory: boolean }[];
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function isFolder(parent: string, entry: Dirent): Promise<boolean> {
  if (entry.isDirectory()) return true;
  if (!entry.isSymbolicLink()) return false;
  try {
    return (await stat(join(parent, entry.name))).isDirectory();
  } catch {
    return false; // a dangling link
  }
}

/**
 * Models of a repository: every sub-folder is one.
 *
 * @throws {TritonError} NOT_FOUND when the folder is not there, INVALID_ARG when it is no folder.
 */
export async function listModels(repository: string): Promise<ModelFolder[]> {
  let entries: Dirent[];
  try {
    entries = await entriesOf(repository);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new TritonError(
      code === 'ENOTDIR' ? 'INVALID_ARG' : 'NOT_FOUND',
      `model repository '${repository}' cannot be read: ${reasonOf(error)}`,
      { cause: error },
    );
  }
  const models: ModelFolder[] = [];
  for (const entry of entries) {
    if (!entry.name.startsWith('.') && (await isFolder(repository, entry))) {
      models.push({ name: entry.name, path: join(repository, entry.name) });
    }
  }
  return models;
}

/** Version numbers are decimal without leading zeros; other folders of a model have other uses. */
export const versionName: RegExp = /^(0|[1-9]\d{0,15})$/;

/**
 * Reads a model's folder.
 *
 * @throws {TritonError} INTERNAL when a file is there but cannot be read, INVALID_ARG for a configuration that is too large.
 */
export async function readModel(folder: ModelFolder): Promise<ModelFiles> {
  try {
    const entries = await entriesOf(folder.path);
    const folders: string[] = [];
    for (const entry of entries) if (await isFolder(folder.path, entry)) folders.push(entry.name);
    const versions = folders
      .filter((name) => versionName.test(name))
      .map(Number)
      .filter((number) => Number.isSafeInteger(number))
      .sort((a, b) => a - b);
    const first = folders[0];
    const firstVersionEntries: { name: string; isDirectory: boolean }[] = [];
    if (first !== undefined) {
      const path = join(folder.path, first);
      for (const entry of await entriesOf(path)) {
        firstVersionEntries.push({ name: entry.name, isDirectory: await isFolder(path, entry) });
      }
    }
    const hasConfig = entries.some((entry) => entry.name === 'config.pbtxt');
    const file = join(folder.path, 'config.pbtxt');
    return {
      config: hasConfig ? { file, bytes: await readConfigFile(folder.name, file) } : undefined,
      versions,
      firstVersionEntries,
    };
  } catch (error) {
    if (error instanceof TritonError) throw error;
    throw new TritonError(
      'INTERNAL',
      `model '${folder.name}': its folder cannot be read: ${reasonOf(error)}`,
      {
        model: folder.name,
        cause: error,
      },
    );
  }
}

async function readConfigFile(model: string, file: string): Promise<Buffer> {
  try {
    return await readAtMost(file, maxConfigBytes);
  } catch (error) {
    if (error instanceof TooLargeError) {
      throw problemsError([tooManyBytes(error.size)], { file, lineOf: () => 0 }, model);
    }
    throw new TritonError('INTERNAL', `model '${model}': ${file} cannot be read: ${reasonOf(error)}`, {
      model,
      cause: error,
    });
  }
}

/** A text that changes when a file of the model is changed, added or removed: names, sizes and times of all of them. */
export async function stampModel(folder: ModelFolder): Promise<string> {
  const lines: string[] = [];
  // Links may lead in circles.
  const visited = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    for (const entry of await entriesOf(path)) {
      const inside = join(path, entry.name);
      // None for a dangling link, and for what was removed since it was listed.
      const found = await stat(inside).catch(() => undefined);
      lines.push(found ? `${inside} ${found.mtimeMs} ${found.size}` : inside);
      if (!found?.isDirectory() || visited.has(`${found.dev}:${found.ino}`)) continue;
      visited.add(`${found.dev}:${found.ino}`);
      await visit(inside);
    }
  };
  await visit(folder.path);
  return lines.join('\n');
}
