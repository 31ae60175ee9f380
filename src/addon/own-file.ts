/** Finds files of this package that threads and processes run by path. They are missing from a bundle. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TritonError, unavailable } from '../errors.js';

/** Advice for a package that was bundled. */
export const outsideOfBundle =
  'leave tritonts and onnxruntime-node outside of it and install them beside it: esbuild --external:tritonts --external:onnxruntime-node, webpack externals, Next serverExternalPackages (docs/bundlers.md)';

// In a CommonJS bundle some bundlers leave `import.meta.url` undefined, despite its type. Modules that need it
// import this module first.
const here = (import.meta as { readonly url?: string }).url;
if (here === undefined) {
  throw new TritonError('UNAVAILABLE', `tritonts is in a bundle of CommonJS: ${outsideOfBundle}`, {
    reason: 'MISSING',
  });
}

/**
 * The path of a file of this package.
 *
 * @param path - The path, relative to the package's folder.
 * @param what - What the file is, for the message.
 * @throws {@link TritonError} UNAVAILABLE if the file does not exist.
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
