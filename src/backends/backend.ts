/** The interface of a backend in TypeScript: its runtime, its options, its instances. */

import type { BackendRules, ModelConfig, ModelDescription } from '../config/index.js';
import type { BackendConfig } from '../options.js';
import type { BackendContext } from './context.js';
import type { OpenedInstances, VersionSource } from './version-source.js';

/**
 * A backend's requirements for running on GPUs. Its native side takes one file for each device
 * (`native/backends/gpu/device_files.h`), because different kinds of GPUs may need different files.
 */
export interface OnGpus {
  /** What is missing, besides GPUs, and what to do; undefined if nothing is missing. */
  missing(options: BackendConfig): string | undefined;
}

/** A runtime that is a program, as it was found. */
export interface FoundProgram {
  /** Its path and version; undefined if models cannot use it. */
  readonly library: { readonly path: string; readonly version: string } | undefined;
  /** Why it cannot be used: what was looked for, where, and what to install. Empty if it can. */
  readonly reason: string;
  /** What some models need besides: what there is, or what to install. Empty if nothing. */
  readonly besides: string;
}

/** What runs a backend's models. If it is neither a library nor a program, it is part of Node. */
export interface Runtime {
  /** The runtime's name, such as `ONNX Runtime`. */
  readonly title: string;
  /**
   * The settings with which the native side opens the runtime's library without a model, in the form of
   * {@link Backend.settings}. The library is not part of the package.
   *
   * @throws {@link TritonError} UNAVAILABLE; it says what was searched, where, and what to install.
   */
  settings?(options: BackendConfig): Record<string, string>;
  /**
   * Looks for the runtime's program. With {@link Runtime.settings}, it is asked only if the library cannot be used: models then run
   * with the program instead.
   *
   * @param others - The options of each backend.
   * @param lack - Why the library cannot be used.
   */
  find?(
    options: BackendConfig,
    others: Readonly<Record<string, BackendConfig>>,
    lack?: string,
  ): Promise<FoundProgram>;
}

/** A backend's decisions that are made once per model. `native/backends/<name>/` runs the requests. */
export interface Backend {
  readonly name: string;
  /** The name of the native backend that runs it (default: the same name). */
  readonly native?: string | undefined;
  /** Whether a model may be configured as decoupled (default: no; each request gets one response). */
  readonly decoupled?: boolean;
  /** Whether it needs the model's file. The identity backend, for example, does not. */
  readonly needsFile: boolean;
  /** The name of the file if the configuration has none, which Triton does not fill in then. */
  readonly defaultFile?: string;
  /**
   * Whether its native side describes a model's inputs and outputs (default: if it needs the model's file). Otherwise the
   * configuration must write them, and nothing is completed.
   */
  readonly describesModels?: boolean;
  /** Its rules for its models' configurations: files, parameters, accelerators (default: none of its own). */
  readonly rules?: BackendRules;
  /**
   * Whether its native side says by itself what is wrong with the content of a model's file, because it reads the file
   * without a runtime (default: no).
   */
  readonly explainsFiles?: boolean;
  /** The `max_batch_size` of a model that can be batched and writes none (default: Triton's). */
  readonly defaultMaxBatchSize?: number;
  /** Whether the program may give a model's code instead of a file (default: no). */
  readonly takesCode?: boolean;
  /** Whether its models may call others, and so may require them (default: no). */
  readonly callsModels?: boolean;
  /**
   * Whether a model's file may name other files with its weights, and the runtime takes these only from the model's
   * own folder. If such a file is a link, the model is opened from bytes instead (default: no).
   */
  readonly confinesWeights?: boolean;
  /** The keys of `backendConfig[name]` that it reads. */
  readonly optionKeys: readonly string[];
  /**
   * The option keys whose values are paths, or several paths separated by semicolons. Relative paths start from
   * the working directory, except for a library's name without a folder.
   */
  readonly paths?: Readonly<Partial<Record<string, 'path' | 'library' | 'libraries'>>>;
  /**
   * Chooses the backend that runs a version on this machine, if there are several ways (default: this one).
   *
   * @param others - The options of each backend.
   * @throws {@link TritonError} INVALID_ARG for an invalid parameter value, UNAVAILABLE if no way is there.
   */
  choose?(context: BackendContext, others: Readonly<Record<string, BackendConfig>>): Promise<Backend>;
  /**
   * How its models run more slowly than they might, and what makes them faster, as a clause: of a backend that
   * {@link Backend.choose} falls back to (default: nothing).
   */
  readonly detour?: string;
  /** The backend's runtime. A backend without one needs only the addon. */
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
  /**
   * Opens what a version's instances need outside of the native side, such as threads or processes. Absent: they
   * need nothing, and only the native side opens them.
   *
   * @throws {@link TritonError} Any code, with the reason. Nothing of the version is left then.
   */
  open?(source: VersionSource): Promise<OpenedInstances>;
  /**
   * The description of a model after the native side has adapted it to its configuration: with other shapes, or with outputs
   * that only the configuration names. The native side then refuses a model that cannot be adapted (default: models run as
   * their files describe them).
   *
   * @param config - The configuration before it is completed.
   */
  reshaped?(description: ModelDescription, config: ModelConfig, options: BackendConfig): ModelDescription;
  /** What `model.notes` says of a version that is open, besides its configuration. `info`: `Model::Info` of the native side. */
  notes?(info: Readonly<Record<string, string>>, context: BackendContext): readonly string[];
  /** The field of `config` that an error of the native side concerns, if the message shows it. */
  blame?(message: string, context: BackendContext): string | undefined;
  /** Whether an error of the native side means that the runtime found no model in the file. */
  foundNoModel?(message: string): boolean;
}
