/** The interface of a backend in TypeScript: its library, its options, its instances. */

import type { ModelConfig } from '../config/index.js';
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
  /** Why no GPU can be used, in the driver's words where it has some; undefined: one can. */
  readonly noGpu: () => string | undefined;
}

/** Stands for the CPU among the ids of devices. */
export const cpu: number = -1;

/**
 * What a backend needs to run on GPUs. Its native side takes the file of each device (`native/backends/gpu/device_files.h`): GPUs of
 * different kinds may have different ones.
 */
export interface OnGpus {
  /** What is missing for that, beside GPUs, and what helps; undefined: nothing is. */
  missing(options: BackendConfig): string | undefined;
}

/** The runtime of a backend, which is not part of the package. */
export interface Runtime {
  /** What it is called, such as `ONNX Runtime`. */
  readonly title: string;
  /**
   * The settings that open its library without a model, as those of {@link Backend.settings}.
   *
   * @throws {@link TritonError} UNAVAILABLE that says what was looked for, where, and what to install.
   */
  settings(options: BackendConfig): Record<string, string>;
}

/**
 * Where a backend's instances are: 'native' ones are opened by the native side alone; 'threads' run JavaScript (`src/javascript`),
 * and a 'process' runs Python (`src/python`).
 */
export type InstanceHome = 'native' | 'threads' | 'process';

/** The decisions of a backend that are made once a model. `native/backends/<name>/` runs the requests. */
export interface Backend {
  readonly name: string;
  /** The name of the native backend that runs it (default: its own). */
  readonly native?: string | undefined;
  /** How its models' instances come to be. */
  readonly opens: InstanceHome;
  /** Whether a request of its models may get any number of responses, as configured (default: it gets one). */
  readonly decoupled?: boolean;
  /** Whether it needs the model's file. The identity backend does not. */
  readonly needsFile: boolean;
  /** The keys of `backendConfig[name]` that it reads. */
  readonly optionKeys: readonly string[];
  /**
   * The keys of these whose values are paths, or several of them separated by semicolons. Relative paths start
   * at the working directory, except for a library's name without a folder.
   */
  readonly paths?: Readonly<Partial<Record<string, 'path' | 'library' | 'libraries'>>>;
  /** Its runtime. A backend without this needs nothing but Node. */
  readonly runtime?: Runtime;
  /** What it needs to run on GPUs. A backend without this runs on the CPU only. */
  readonly onGpus?: OnGpus;
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
