/** The options of the server of this example. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerOptions } from '../../src/index.js';

/** The environment that `npm run demo -- torch-images` makes, from `dist/examples/torch-images`. */
const made = fileURLToPath(new URL('../../../.venv-torch', import.meta.url));

/**
 * A response cache, and the Python of an environment: an active one, that of the demo, or else `python3`.
 *
 * @param active - The folder of the active environment.
 */
export function optionsFor(active: string | undefined): Omit<ServerOptions, 'modelRepository'> {
  const executable = [active, made]
    .flatMap((folder) => (folder === undefined ? [] : [join(folder, 'bin', 'python')]))
    .find((path) => existsSync(path));
  return {
    cacheConfig: { local: { size: 16 * 2 ** 20 } },
    ...(executable !== undefined && { backendConfig: { python: { executable } } }),
  };
}
