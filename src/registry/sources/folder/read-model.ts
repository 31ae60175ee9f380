/** Reads a model's folder, on a loader thread: its configuration, its versions, and its stamp. */

import { sep } from 'node:path';
import type { NativeFolder } from '../../../addon/native/folder.js';
import type { NativeServer } from '../../../addon/native/server.js';
import { statusError } from '../../../addon/status.js';
import { maxConfigBytes, problemsError, tooManyBytes, unplaced } from '../../../config/index.js';
import { TritonError } from '../../../errors.js';
import { configName, versionsAmong } from '../layout.js';
import type { ListedModel, StampedFiles } from '../model-source.js';
import type { LinkRoots } from './link-roots.js';
import { filesOfFile } from './single-file.js';

/**
 * Reads a model's folder. It resolves all links: a folder between may have become a link since an earlier check, which the stamp
 * does not show.
 *
 * @throws {@link TritonError} INTERNAL for a file that exists but cannot be read; INVALID_ARG for a
 *   configuration that is too large, for a folder with a pipe, a socket, a device or too many entries in
 *   it, and for a link that leads out of the repository; CANCELLED if loading was cancelled.
 */
export async function readModel(
  server: NativeServer,
  model: ListedModel,
  links: LinkRoots,
): Promise<StampedFiles> {
  const { name, path, file: modelFile } = model;
  if (modelFile !== undefined) return filesOfFile(name, modelFile);
  const found = await walk(server, model, links, { mostConfigBytes: maxConfigBytes, checkedStamp: '' });
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
 * A text that changes when one of the files in a model's folder is changed, added or removed. Links to files are resolved only if it
 * has changed since the last check: polls ask often, and open no file.
 *
 * @throws {@link TritonError} As {@link readModel}, but for the configuration, which is not read.
 */
export async function stampOf(server: NativeServer, model: ListedModel, links: LinkRoots): Promise<string> {
  if (model.file !== undefined) return (await filesOfFile(model.name, model.file)).stamp;
  return (await walk(server, model, links, { mostConfigBytes: 0, checkedStamp: links.checkedStamp(model) }))
    .stamp;
}

interface WalkOptions {
  /** A larger configuration is left unread. */
  readonly mostConfigBytes: number;
  /** Files with this stamp have no link to resolve; empty: none. */
  readonly checkedStamp: string;
}

async function walk(
  server: NativeServer,
  model: ListedModel,
  links: LinkRoots,
  { mostConfigBytes, checkedStamp }: WalkOptions,
): Promise<NativeFolder> {
  const { name, path } = model;
  const found = await new Promise<NativeFolder>((resolve, reject) => {
    server.readFolder(name, path, mostConfigBytes, links.folders, checkedStamp, (error, folder) => {
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
  if (found.outsideLink) throw links.outsideError(model, found.outsideLink);
  links.noteChecked(model, found.stamp);
  return found;
}
