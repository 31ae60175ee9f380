/** Finds the files of this package that processes of Python models use. */

import { dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { addonFile } from '../addon/load.js';
import { ownFile } from '../addon/own-file.js';
import { unavailable } from '../errors.js';

/**
 * The Python program of such a process.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file is missing.
 */
export function stubProgram(): string {
  return ownFile('python/stub.py', 'which Python models need');
}

/**
 * The native library with which that program uses the shared memory. It lies beside the addon.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file is missing.
 */
export function stubLibrary(): string {
  const file = join(dirname(addonFile()), 'tritonts_python.so');
  if (existsSync(file)) return file;
  throw unavailable(
    'MISSING',
    `there is no '${file}', which Python models need: build or install the addon again`,
  );
}
