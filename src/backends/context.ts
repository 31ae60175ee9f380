/** What a backend knows of a model version when it decides how the version is opened. */

import type { ModelConfig } from '../config/index.js';
import type { TritonError } from '../errors.js';
import type { BackendConfig } from '../options.js';

/** The inputs for a backend's decision how a model version is opened. */
export interface BackendContext {
  readonly config: ModelConfig;
  /**
   * The model's folder, which relative paths of its configuration start from; undefined if the model was passed
   * as bytes.
   */
  readonly modelDirectory: string | undefined;
  /** The version's folder; undefined if the model was passed as bytes. */
  readonly versionDirectory: string | undefined;
  /** The server's option `trustedFolders`. */
  readonly trustedFolders: readonly string[];
  /** The user's `backendConfig` for this backend. */
  readonly options: BackendConfig;
  /** Number of cores that the server may use. */
  readonly cores: number;
  /** How many of them idle threads may spin on; 0: none may spin. */
  readonly spinCores: number;
  /**
   * Makes the error for a field of `config`, with its location. `text` says what was expected and what was
   * received. The code is INVALID_ARG, or UNSUPPORTED for a value that may have a meaning elsewhere.
   */
  readonly fault: (field: string, text: string, code?: 'INVALID_ARG' | 'UNSUPPORTED') => TritonError;
  /** How many cores the instances are bound to, if none may run on all. */
  readonly boundCores: number | undefined;
  /** The device of each instance of the version: the id of a GPU, or {@link cpu}. */
  readonly devices: readonly number[];
  /** Why no GPU can be used, in the driver's words if it gives any; undefined if one can. */
  readonly noGpu: () => string | undefined;
}

/** Represents the CPU among device ids. */
export const cpu: number = -1;
