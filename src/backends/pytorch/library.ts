/** libtorch, of Python's wheel, of an archive or of an installed package. */

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unavailable } from '../../errors.js';
import type { BackendConfig } from '../../options.js';
import { findRuntimeLibrary, type RuntimeLibrary } from '../runtime-library.js';

/** The command that builds the shim. */
export const buildCommand = 'npx tritonts build-backend pytorch';

const variable = 'TRITONTS_TORCH_PATH';

const library: RuntimeLibrary = {
  title: 'PyTorch',
  backend: 'pytorch',
  what: 'libtorch (libtorch_cpu)',
  names: {
    linux: { pattern: /^libtorch_cpu\.so(\.\d+)*$/, shown: 'libtorch_cpu.so' },
    darwin: { pattern: /^libtorch_cpu\.dylib$/, shown: 'libtorch_cpu.dylib' },
  },
  variable,
  usualFolders: ['/opt/libtorch/lib', '/usr/local/libtorch/lib'],
  wheelFolder: join('torch', 'lib'),
  install: `pip install torch' and then '${buildCommand}`,
};

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // It does not exist, or is in a file.
  }
}

/** The folder of the libraries in an unpacked archive, or in the package torch. */
function inLib(path: string): string {
  const lib = join(path, 'lib');
  return isFolder(lib) ? lib : path;
}

/**
 * Path of libtorch's library, with links resolved. The option `library` and the environment may name the file, its folder,
 * or the folder that has `lib` and `include`.
 *
 * @throws {@link TritonError} UNAVAILABLE; it says what was searched, where, and what to install.
 */
export function torchLibrary(options: BackendConfig, env: NodeJS.ProcessEnv = process.env): string {
  const option = options['library'];
  const named = env[variable];
  const path = findRuntimeLibrary(
    library,
    option === undefined ? options : { ...options, library: inLib(String(option)) },
    named === undefined || named === '' ? env : { ...env, [variable]: inLib(named) },
  );
  if (!existsSync(path)) throw unavailable('MISSING', `there is no libtorch '${path}'`);
  return realpathSync(path);
}

/** Whether the user names the library, so that no other one is wanted. */
export function namesTorch(options: BackendConfig, env: NodeJS.ProcessEnv = process.env): boolean {
  return options['library'] !== undefined || (env[variable] ?? '') !== '';
}

/** What tells that a library is still the one that a shim was built for. Copies of images keep whole seconds only. */
export function stampOf(path: string): string {
  const { size, mtimeMs } = statSync(path);
  return `${size} bytes, ${Math.floor(mtimeMs / 1000)}`;
}

/** libtorch's headers, with what they say. */
export interface TorchHeaders {
  /** The folder. */
  readonly folder: string;
  readonly version: string;
}

/** The files that may have the version, those of new versions first. */
const versionFiles: readonly string[] = [
  'torch/headeronly/version.h',
  'torch/csrc/api/include/torch/version.h',
  'torch/version.h',
];

function versionIn(folder: string): string | undefined {
  for (const file of versionFiles) {
    const path = join(folder, file);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const version = /#define\s+TORCH_VERSION\s*\\?\s*"([^"]+)"/.exec(text)?.[1];
    if (version !== undefined) return version;
  }
  return undefined;
}

/**
 * The headers of a library: in `include` beside its folder, or in the system's.
 *
 * @throws {@link TritonError} UNAVAILABLE if they are in no such folder.
 */
export function torchHeaders(path: string): TorchHeaders {
  const folders = [join(dirname(dirname(path)), 'include'), '/usr/include'];
  for (const folder of folders) {
    const version = versionIn(folder);
    if (version !== undefined) return { folder, version };
  }
  throw unavailable(
    'MISSING',
    `libtorch '${path}' has no headers: torch/version.h is in none of ${folders.join(', ')}. ` +
      "Python's package has them ('pip install torch'), and so have the archives of libtorch",
  );
}
