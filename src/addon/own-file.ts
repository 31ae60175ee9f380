/** The files of this package that threads and processes run by their paths, which a bundle lacks. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TritonError, unavailable } from '../errors.js';

/** What to do where this package is inside of a bundle. */
export const outsideOfBundle =
  'leave tritonts and onnxruntime-node outside of it and install them beside it: esbuild --external:tritonts --external:onnxruntime-node, webpack externals, Next serverExternalPackages (docs/bundlers.md)';

// In a bundle of CommonJS some bundlers leave nothing in its place, whatever its type says. Modules that need it import this
// one first.
const here = (import.meta as { readonly url?: string }).url;
if (here === undefined) {
  throw new TritonError('UNAVAILABLE', `tritonts is in a bundle of CommonJS: ${outsideOfBundle}`, {
    reason: 'MISSING',
  });
}

/**
 * The path of a file of this package.
 *
 * @param path - From the package's folder.
 * @param what - What it is, in the message.
 * @throws {@link TritonError} UNAVAILABLE if it is not there.
 */
export function ownFile(path: string, what: string): string {
  // This file is in dist/src/addon.
  const file = fileURLToPath(new URL(`../../../${path}`, here));
  if (existsSync(file)) return file;
  throw unavailable(
    'MISSING',
    `there is no '${file}', ${what}: if tritonts is in a bundle, ${outsideOfBundle}; else install it again (npm ci)`,
  );
}
