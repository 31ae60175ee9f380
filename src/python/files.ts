/** The files of this package that processes of Python models run. */

import { dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { addonFile } from '../addon/load.js';
import { ownFile } from '../addon/own-file.js';
import { unavailable } from '../errors.js';

/**
 * The program of such a process.
 *
 * @throws {@link TritonError} UNAVAILABLE if it is not there.
 */
export function stubProgram(): string {
  return ownFile('python/stub.py', 'which Python models need');
}

/**
 * The library that it shares memory with, which lies beside the addon.
 *
 * @throws {@link TritonError} UNAVAILABLE if it is not there.
 */
export function stubLibrary(): string {
  const file = join(dirname(addonFile()), 'tritonts_python.so');
  if (existsSync(file)) return file;
  throw unavailable(
    'MISSING',
    `there is no '${file}', which Python models need: build or install the addon again`,
  );
}
