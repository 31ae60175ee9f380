/** Opens a version of a Python model: finds its file, and lets it complete its configuration. */

import { invalidArgument, TritonError } from '../../errors.js';
import { PythonVersion } from '../../python/python-version.js';
import { openInstances } from '../open-instances.js';
import type { OpenedInstances, VersionSource } from '../version-source.js';
import { environmentOf } from './environment.js';
import { pythonSettings } from './settings.js';

/**
 * See the head of this file.
 *
 * @throws {@link TritonError} INVALID_ARG for a file that is not there, UNSUPPORTED for a model that was given as bytes
 *   and on systems without what its processes are spoken to with, and whatever the model raises. Nothing of
 *   the version is left then.
 */
export async function openPython(source: VersionSource): Promise<OpenedInstances> {
  const { server, options, prepared, version, backend, instances, host } = source;
  const { modelName: model } = prepared.context;
  const path = fileOf(source, model);
  const fault = source.faultOfCode(path);
  if (fault) throw invalidArgument(`model '${model}', version ${version}: ${await fault}`, { model });
  const opened = new PythonVersion({
    model,
    version,
    path,
    modelDirectory: backend.modelDirectory ?? '',
    instances,
    settings: pythonSettings(backend.options),
    environment: environmentOf(backend),
    cores: options.spinCores,
    unloadTimeoutMs: options.workers.unloadTimeoutMs,
    finalizeTimeoutMs: options.finalizeTimeoutMs,
    log: options.log,
    native: server,
    host,
  });
  return openInstances(source, opened, 'auto_complete_config');
}

function fileOf({ file }: VersionSource, model: string): string {
  if (process.platform !== 'linux') {
    const text = `models of the backend 'python' run on Linux alone, and this is ${process.platform}`;
    throw new TritonError('UNSUPPORTED', `model '${model}': ${text}`, { model });
  }
  if (file === undefined) {
    const text =
      'a Python model cannot be given as bytes, as its process reads its file: put it into a model repository';
    throw new TritonError('UNSUPPORTED', `model '${model}': ${text}`, { model });
  }
  return file;
}
