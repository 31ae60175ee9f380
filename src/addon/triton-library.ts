/** Finds the library with Triton's functions, which plug-ins and native programs need. It lies beside the addon. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unavailable } from '../errors.js';
import { addonFile } from './load.js';

/**
 * Its path.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file is missing, as on other systems than Linux.
 */
export function tritonLibrary(): string {
  const file = join(dirname(addonFile()), 'libtritonserver.so');
  if (existsSync(file)) return file;
  throw unavailable(
    'MISSING',
    `there is no '${file}', the library with Triton's functions: the package has it on Linux; build or install the addon again`,
  );
}
