/** What TypeScript decides for a backend: its library, its options, its instances. */

import type { Gpus, ModelConfig } from '../config/index.js';
import type { TritonError } from '../errors.js';
import type { BackendConfig } from '../options.js';

/** What a backend may look at to decide how a model version is opened. */
export interface BackendContext {
  readonly config: ModelConfig;
  /** The model's folder, which relative paths of its config start from; undefined: the model was given as bytes. */
  readonly modelDirectory: string | undefined;
  /** See the server's option. */
  readonly trustedFolders: readonly string[];
  /** The user's `backendConfig` for this backend. */
  readonly options: BackendConfig;
  /** Cores the server may use. */
  readonly cores: number;
  /** The INVALID_ARG error for a field of `config`, with its place: what was expected, and what came. */
  readonly fault: (field: string, text: string) => TritonError;
  /** The device of each instance that the version will have: the id of a GPU, or {@link cpu}. */
  readonly devices: readonly number[];
}

/** The CPU among the ids of devices. */
export const cpu: number = -1;

/** The half of a backend that is decided once for a model; the other half is `native/backends/<name>/`. */
export interface Backend {
  readonly name: string;
  /** Whether it needs the model's file; the identity backend does not. */
  readonly needsFile: boolean;
  /** Keys of `backendConfig[name]` that it reads. */
  readonly optionKeys: readonly string[];
  /** Those that are paths: relative ones start at the working directory, but for a library without a folder. */
  readonly paths?: Readonly<Partial<Record<string, 'path' | 'library'>>>;
  /** The GPUs that its instances can use with these options; absent: it runs on the CPU only. */
  gpus?(options: BackendConfig): Gpus;
  /**
   * Settings for the native half, documented in its header.
   *
   * @throws {TritonError} When a parameter's value makes no sense, or the runtime is not there.
   */
  settings(context: BackendContext): Record<string, string>;
  /** The field of `config` that an error of the native half is about, as far as its message tells. */
  blame?(message: string, context: BackendContext): string | undefined;
}
