/**
 * Triton's backends as shared libraries: plug-ins. A model has the plug-in's name as its backend, or names its library as
 * `runtime`. `native/backends/plugin` runs them.
 */

import { tritonLibrary } from '../../addon/triton-library.js';
import { TritonError } from '../../errors.js';
import type { Backend, FoundProgram } from '../backend.js';
import { openPlugin } from './open.js';

/** The version of TRITONBACKEND that plug-ins find. */
export const pluginApiVersion = '1.19';

/** Looks for the library that plug-ins need. */
function find(): Promise<FoundProgram> {
  try {
    const library = { path: tritonLibrary(), version: pluginApiVersion };
    return Promise.resolve({ library, reason: '', besides: '' });
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    return Promise.resolve({ library: undefined, reason: error.message, besides: '' });
  }
}

/** Runs models of plug-ins. */
export const backend: Backend = {
  name: 'plugin',
  decoupled: true,
  needsFile: false,
  callsModels: true,
  rules: { completesItself: true, ragged: 'apart', placesItself: true },
  optionKeys: [],
  runtime: { title: "Triton's interface for backends", find },
  settings(): Record<string, string> {
    return {};
  },
};

/**
 * The backend of a plug-in.
 *
 * @param library - The path of its file.
 */
export function pluginBackend(name: string, library: string): Backend {
  return {
    ...backend,
    name,
    native: backend.name,
    open: (source) => Promise.resolve(openPlugin(source, name, library)),
  };
}
