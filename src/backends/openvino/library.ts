/** The C library of OpenVINO, of an installed package or of Python's wheel. */

import { join } from 'node:path';
import type { BackendConfig } from '../../options.js';
import { findRuntimeLibrary, type RuntimeLibrary } from '../runtime-library.js';

/** The names of wheels and packages end with a version. */
const library: RuntimeLibrary = {
  title: 'OpenVINO',
  backend: 'openvino',
  what: "OpenVINO's C API (libopenvino_c)",
  names: {
    linux: { pattern: /^libopenvino_c\.so(\.\d+)*$/, shown: 'libopenvino_c.so*' },
    darwin: { pattern: /^libopenvino_c(\.\d+)*\.dylib$/, shown: 'libopenvino_c*.dylib' },
    win32: { pattern: /^openvino_c\.dll$/, shown: 'openvino_c.dll' },
  },
  variable: 'TRITONTS_OPENVINO_PATH',
  usualFolders: ['intel64', 'aarch64', 'arm64/Release'].map(
    (place) => `/opt/intel/openvino/runtime/lib/${place}`,
  ),
  wheelFolder: join('openvino', 'libs'),
  install: 'pip install openvino',
};

/**
 * Path of the library.
 *
 * @throws {@link TritonError} UNAVAILABLE; it says what was searched, where, and what to install.
 */
export function openVinoLibrary(options: BackendConfig, env: NodeJS.ProcessEnv = process.env): string {
  return findRuntimeLibrary(library, options, env);
}
