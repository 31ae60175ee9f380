/** The interface of a backend in TypeScript: its library, its options, its instances. */

import type { Gpus, ModelConfig } from '../config/index.js';
import type { TritonError } from '../errors.js';
import type { BackendConfig } from '../options.js';

/** What a backend may look at when it decides how a model version is opened. */
export interface BackendContext {
  readonly config: ModelConfig;
  /**
   * The model's folder, at which relative paths of its config start; undefined if the model was given as
   * bytes.
   */
  readonly modelDirectory: string | undefined;
  /** The server's option of this name. */
  readonly trustedFolders: readonly string[];
  /** The user's `backendConfig` for this backend. */
  readonly options: BackendConfig;
  /** Cores the server may use. */
  readonly cores: number;
  /**
   * Makes the INVALID_ARG error for a field of `config`, with its place, from what was expected and what
   * came.
   */
  readonly fault: (field: string, text: string) => TritonError;
  /** The device of each instance that the version will have: the id of a GPU, or {@link cpu}. */
  readonly devices: readonly number[];
}

/** Stands for the CPU among the ids of devices. */
export const cpu: number = -1;

/** The decisions of a backend that are made once a model. `native/backends/<name>/` runs the requests. */
export interface Backend {
  readonly name: string;
  /** The name of the native backend that runs it (default: its own). */
  readonly native?: string | undefined;
  /** Whether its models are JavaScript, with instances that `src/javascript` starts. */
  readonly isJavaScript?: true | undefined;
  /** Whether a request of its models may get any number of responses, as configured (default: it gets one). */
  readonly decoupled?: boolean;
  /** Whether it needs the model's file. The identity backend does not. */
  readonly needsFile: boolean;
  /** The keys of `backendConfig[name]` that it reads. */
  readonly optionKeys: readonly string[];
  /**
   * The keys of these whose values are paths. Relative paths start at the working directory, except for a
   * library's name without a folder.
   */
  readonly paths?: Readonly<Partial<Record<string, 'path' | 'library'>>>;
  /** The GPUs that its instances can use with these options. A backend without this runs on the CPU only. */
  gpus?(options: BackendConfig): Gpus;
  /**
   * Settings for the native side, whose header documents them.
   *
   * @throws {@link TritonError} INVALID_ARG for a parameter whose value makes no sense, UNAVAILABLE without
   *   the runtime.
   */
  settings(context: BackendContext): Record<string, string>;
  /** The field of `config` that an error of the native side is about, if its message tells. */
  blame?(message: string, context: BackendContext): string | undefined;
}
