/** Reads a model's folder, on a loader thread: its configuration, its versions, and its stamp. */

import { sep } from 'node:path';
import type { NativeFolder } from '../../../addon/native/folder.js';
import type { NativeServer } from '../../../addon/native/server.js';
import { statusError } from '../../../addon/status.js';
import { maxConfigBytes, problemsError, tooManyBytes, unplaced } from '../../../config/index.js';
import { TritonError } from '../../../errors.js';
import { configName, versionsAmong } from '../layout.js';
import type { ListedModel, StampedFiles } from '../model-source.js';
import { filesOfFile } from './single-file.js';

/**
 * Reads a model's folder.
 *
 * @throws {@link TritonError} INTERNAL for a file that exists but cannot be read; INVALID_ARG for a
 *   configuration that is too large, and for a folder with a pipe, a socket, a device or too many entries in
 *   it; CANCELLED if loading was cancelled.
 */
export async function readModel(server: NativeServer, model: ListedModel): Promise<StampedFiles> {
  const { name, path, file: modelFile } = model;
  if (modelFile !== undefined) return filesOfFile(name, modelFile);
  const found = await walk(server, model, maxConfigBytes);
  const file = `${path}${sep}${configName}`;
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
    versions: versionsAmong(found.folders),
    firstVersionEntries: found.firstEntries,
    ...(found.misnamedConfig !== '' && { misnamedConfig: found.misnamedConfig }),
    stamp: found.stamp,
  };
}

/**
 * A text that changes when one of the files in a model's folder is changed, added or removed.
 *
 * @throws {@link TritonError} As {@link readModel}, but for the configuration, which is not read.
 */
export async function stampOf(server: NativeServer, model: ListedModel): Promise<string> {
  if (model.file !== undefined) return (await filesOfFile(model.name, model.file)).stamp;
  // A configuration with more bytes than these is left unread.
  return (await walk(server, model, 0)).stamp;
}

async function walk(
  server: NativeServer,
  { name, path }: ListedModel,
  mostConfigBytes: number,
): Promise<NativeFolder> {
  const found = await new Promise<NativeFolder>((resolve, reject) => {
    server.readFolder(name, path, mostConfigBytes, (error, folder) => {
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
      `model '${name}': ${found.refusal}; its folder '${path}' must hold only the model's files`,
      { model: name },
    );
  }
  return found;
}
