/** The C library of TensorFlow, of an installed package or of Python's wheel. */

import type { BackendConfig } from '../../options.js';
import { findRuntimeLibrary, type RuntimeLibrary } from '../runtime-library.js';

/** The C package has libtensorflow, and the wheel libtensorflow_cc, with the same functions. */
const library: RuntimeLibrary = {
  title: 'TensorFlow',
  backend: 'tensorflow',
  what: "TensorFlow's C API (libtensorflow or libtensorflow_cc)",
  names: {
    linux: {
      pattern: /^libtensorflow(_cc)?\.so\.2(\.\d+)*$/,
      shown: 'libtensorflow.so.2 or libtensorflow_cc.so.2',
    },
    darwin: {
      pattern: /^libtensorflow(_cc)?\.2(\.\d+)*\.dylib$/,
      shown: 'libtensorflow.2.dylib or libtensorflow_cc.2.dylib',
    },
    win32: { pattern: /^tensorflow(_cc\.2)?\.dll$/, shown: 'tensorflow.dll or tensorflow_cc.2.dll' },
  },
  variable: 'TRITONTS_TENSORFLOW_PATH',
  usualFolders: ['/opt/tensorflow/lib'],
  wheelFolder: 'tensorflow',
  install: 'pip install tensorflow-cpu',
};

/**
 * Path of the library.
 *
 * @throws {@link TritonError} UNAVAILABLE; it says what was searched, where, and what to install.
 */
export function tensorFlowLibrary(options: BackendConfig, env: NodeJS.ProcessEnv = process.env): string {
  return findRuntimeLibrary(library, options, env);
}
