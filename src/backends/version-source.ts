/** What a version is opened from by its backend, and what the backend has opened. */

import type { NativeServer } from '../addon/native/server.js';
import type { BackendContext } from './context.js';
import type { ModelConfig, ParsedConfig, PreparedConfig } from '../config/index.js';
import type { ModelCode } from '../javascript/model-code.js';
import type { VersionHost } from '../javascript/model-server.js';
import type { ResolvedOptions } from '../options.js';
import type { PlacedInstance } from '../scheduling/placed-instance.js';

/** What a version is opened from. */
export interface VersionSource {
  readonly server: NativeServer;
  readonly options: ResolvedOptions;
  readonly prepared: PreparedConfig;
  readonly parsed: ParsedConfig | undefined;
  readonly version: number;
  /** The model's code in JavaScript, if the program gave it. */
  readonly code: ModelCode | undefined;
  /** The code of its backend, if that is not the package's. */
  readonly backendCode: ModelCode | undefined;
  readonly backend: BackendContext;
  /** Path of the model's file; undefined if the model was given as bytes. */
  readonly file: string | undefined;
  /** The version's folder, of a model that was not given as bytes. */
  readonly directory: string;
  readonly instances: readonly PlacedInstance[];
  readonly host: VersionHost;
  /** Why a file of code cannot be run, and what to do; undefined if nothing can be seen from outside. */
  readonly faultOfCode: (path: string) => Promise<string> | undefined;
}

/** What a backend has opened for a version. */
export interface OpenedInstances {
  /** The configuration with what the model says of it. */
  readonly prepared: PreparedConfig;
  /** Settings for the native side, besides `Backend.settings`. */
  readonly settings: Record<string, string>;
  /** Starts the instances with the completed configuration. */
  start(config: ModelConfig): Promise<void>;
  /** What the instances tell of the model once they have started, besides `Model::Info` of the native side (default: nothing). */
  info?(): Readonly<Record<string, string>>;
  /** The engine has opened the version, or refused it (undefined), which ends it. */
  settle(uid: number | undefined): Promise<void>;
}
