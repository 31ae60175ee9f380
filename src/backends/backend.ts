/** The interface of a backend in TypeScript: its library, its options, its instances. */

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
  /** The server's option `trustedFolders`. */
  readonly trustedFolders: readonly string[];
  /** The user's `backendConfig` for this backend. */
  readonly options: BackendConfig;
  /** Number of cores that the server may use. */
  readonly cores: number;
  /**
   * Makes the INVALID_ARG error for a field of `config`, with its location. `text` says what was expected and
   * what was received.
   */
  readonly fault: (field: string, text: string) => TritonError;
  /** The device of each instance of the version: the id of a GPU, or {@link cpu}. */
  readonly devices: readonly number[];
  /** Why no GPU can be used, in the driver's words if it gives any; undefined if one can. */
  readonly noGpu: () => string | undefined;
}

/** Represents the CPU among device ids. */
export const cpu: number = -1;

/**
 * A backend's requirements for running on GPUs. Its native side takes one file for each device
 * (`native/backends/gpu/device_files.h`), because different kinds of GPUs may need different files.
 */
export interface OnGpus {
  /** What is missing, besides GPUs, and what to do; undefined if nothing is missing. */
  missing(options: BackendConfig): string | undefined;
}

/** The runtime library of a backend, which is not part of the package. */
export interface Runtime {
  /** The runtime's name, such as `ONNX Runtime`. */
  readonly title: string;
  /**
   * The settings that open the library without a model, in the form of {@link Backend.settings}.
   *
   * @throws {@link TritonError} UNAVAILABLE; it says what was searched, where, and what to install.
   */
  settings(options: BackendConfig): Record<string, string>;
}

/**
 * Where a backend's instances run. 'native' instances are opened by the native side alone; 'threads' run
 * JavaScript (`src/javascript`); a 'process' runs Python (`src/python`).
 */
export type InstanceHome = 'native' | 'threads' | 'process';

/** A backend's decisions that are made once per model. `native/backends/<name>/` runs the requests. */
export interface Backend {
  readonly name: string;
  /** The name of the native backend that runs it (default: the same name). */
  readonly native?: string | undefined;
  /** Where the instances of its models run. */
  readonly opens: InstanceHome;
  /** Whether a model may be configured as decoupled (default: no; each request gets one response). */
  readonly decoupled?: boolean;
  /** Whether it needs the model's file. The identity backend, for example, does not. */
  readonly needsFile: boolean;
  /** The keys of `backendConfig[name]` that it reads. */
  readonly optionKeys: readonly string[];
  /**
   * The option keys whose values are paths, or several paths separated by semicolons. Relative paths start from
   * the working directory, except for a library's name without a folder.
   */
  readonly paths?: Readonly<Partial<Record<string, 'path' | 'library' | 'libraries'>>>;
  /** The backend's runtime. A backend without one needs only Node. */
  readonly runtime?: Runtime;
  /** The requirements for running on GPUs. A backend without them runs on the CPU only. */
  readonly onGpus?: OnGpus;
  /**
   * Settings for the native side, whose header documents them.
   *
   * @throws {@link TritonError} INVALID_ARG for an invalid parameter value, UNAVAILABLE if the runtime is
   *   missing.
   */
  settings(context: BackendContext): Record<string, string>;
  /** The field of `config` that an error of the native side concerns, if the message shows it. */
  blame?(message: string, context: BackendContext): string | undefined;
}
