/** A model repository in local folders: its models and versions, and what their files contain. */

import { opendir, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import type { NativeFolder } from '../../addon/native/folder.js';
import type { NativeServer } from '../../addon/native/server.js';
import { statusError } from '../../addon/status.js';
import { maxConfigBytes, problemsError, tooManyBytes, unplaced } from '../../config/index.js';
import { isLack, TritonError, unavailable } from '../../errors.js';
import { filesOfFile, modelOfFile } from './model-file.js';
import type { ModelFolder, StampedFiles } from './model-folder.js';
import { refuseModelAsRepository } from './unfit-folder.js';

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function leadsToFolder(link: string): Promise<boolean> {
  try {
    return (await stat(link)).isDirectory();
  } catch {
    return false; // A dangling link is no folder.
  }
}

/** No repository has as many entries. The path probably names another folder. */
const mostEntries = 131_072;

/**
 * The models of a repository. Every sub-folder is a model. A model file may be given instead of a repository.
 *
 * @param isCancelled - Returns whether loading was cancelled; called at each entry.
 * @param most - How many entries a repository may have.
 * @throws {@link TritonError} NOT_FOUND if the folder does not exist; INVALID_ARG if it is no folder, has
 *   too many entries, or is a model's own folder; CANCELLED if loading was cancelled.
 */
export async function listModels(
  repository: string,
  isCancelled: () => boolean = () => false,
  most: number = mostEntries,
): Promise<ModelFolder[]> {
  const models: ModelFolder[] = [];
  const inside = repository.endsWith(sep) ? repository : repository + sep;
  let count = 0;
  try {
    for await (const entry of await opendir(repository, { bufferSize: 1024 })) {
      if (isCancelled()) {
        throw new TritonError('CANCELLED', `model repository '${repository}': reading it was cancelled`);
      }
      if (++count > most) {
        throw new TritonError(
          'INVALID_ARG',
          `model repository '${repository}' has more than ${most} files and folders`,
        );
      }
      const { name } = entry;
      if (name.startsWith('.')) continue;
      // There may be thousands of entries: this avoids `join`, and a promise for an entry whose kind is
      // known.
      const path = inside + name;
      if (entry.isDirectory() || (entry.isSymbolicLink() && (await leadsToFolder(path)))) {
        models.push({ name, path });
      }
    }
  } catch (error) {
    if (error instanceof TritonError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [await modelOfFile(repository)];
    const text = `model repository '${repository}' cannot be read: ${reasonOf(error)}`;
    // It is there, and can be read when the system has what is lacking.
    if (isLack(error)) throw unavailable('NO_MEMORY', text, { cause: error });
    throw new TritonError('NOT_FOUND', text, { cause: error });
  }
  models.sort((a, b) => (a.name < b.name ? -1 : 1));
  await refuseModelAsRepository(repository, models);
  return models;
}

/** Version numbers are decimal without leading zeros. Other folders of a model have other uses. */
export const versionName: RegExp = /^(0|[1-9]\d{0,15})$/;

/**
 * Reads a model's folder, on a loader thread.
 *
 * @param known - A stamp of the folder. If the folder still has it, the configuration is not read.
 * @throws {@link TritonError} INTERNAL for a file that exists but cannot be read; INVALID_ARG for a
 *   configuration that is too large, and for a folder with a pipe, a socket, a device or too many entries in
 *   it; CANCELLED if loading was cancelled.
 */
export async function readModel(
  server: NativeServer,
  { name, path, file: modelFile }: ModelFolder,
  known = '',
): Promise<StampedFiles> {
  if (modelFile !== undefined) return filesOfFile(name, modelFile);
  const found = await new Promise<NativeFolder>((resolve, reject) => {
    server.readFolder(name, path, maxConfigBytes, known, (error, folder) => {
      if (error) reject(statusError(error, { model: name }));
      else resolve(folder);
    });
  });
  if (found.fault !== '') {
    throw new TritonError('INTERNAL', `model '${name}': its folder cannot be read: ${found.fault}`, {
      model: name,
    });
  }
  if (found.refusal !== '') {
    throw new TritonError(
      'INVALID_ARG',
      `model '${name}': ${found.refusal}; its folder '${path}' is to hold the model's files and nothing else`,
      { model: name },
    );
  }
  const file = `${path}${sep}config.pbtxt`;
  if (found.configSize !== undefined) {
    throw problemsError([tooManyBytes(found.configSize)], unplaced(file), name);
  }
  if (found.configFault !== undefined) {
    throw new TritonError('INTERNAL', `model '${name}': ${file} cannot be read: ${found.configFault}`, {
      model: name,
    });
  }
  return {
    config: found.config && { file, bytes: found.config },
    versions: found.folders
      .filter((folder) => versionName.test(folder))
      .map(Number)
      .filter((number) => Number.isSafeInteger(number))
      .sort((a, b) => a - b),
    firstVersionEntries: found.firstEntries,
    ...(found.misnamedConfig !== '' && { misnamedConfig: found.misnamedConfig }),
    stamp: found.stamp,
  };
}
