/** Finds the files of this package that processes of Python models use. */

import { dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { fileOutsideOfArchive } from '../addon/archive.js';
import { addonFile } from '../addon/load.js';
import { ownFile } from '../addon/own-file.js';
import { unavailable } from '../errors.js';

/**
 * The Python program of such a process.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file is missing, or in an archive of Electron.
 */
export function stubProgram(): string {
  return fileOutsideOfArchive(
    ownFile('python/stub.py', 'which Python models need'),
    'which Python models need',
    'node_modules/tritonts/python/**',
  );
}

/**
 * The model in Python that runs models in TorchScript.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file is missing, or in an archive of Electron.
 */
export function torchProgram(): string {
  return fileOutsideOfArchive(
    ownFile('python/tritonts_torch/model.py', 'which runs models in TorchScript'),
    'which runs models in TorchScript',
    'node_modules/tritonts/python/**',
  );
}

/**
 * The native library with which that program uses the shared memory. It lies beside the addon.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file is missing, or in an archive of Electron.
 */
export function stubLibrary(): string {
  const file = join(dirname(addonFile()), 'tritonts_python.so');
  if (existsSync(file))
    return fileOutsideOfArchive(file, 'which Python models need', 'node_modules/@tritonts/**');
  throw unavailable(
    'MISSING',
    `there is no '${file}', which Python models need: build or install the addon again`,
  );
}
