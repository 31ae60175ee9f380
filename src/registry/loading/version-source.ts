/** What a version is opened from whose instances are threads or processes, and what comes of it. */

import type { NativeServer } from '../../addon/native/server.js';
import type { BackendContext } from '../../backends/backend.js';
import type { ModelConfig, ParsedConfig, PreparedConfig } from '../../config/index.js';
import type { ModelCode } from '../../javascript/model-code.js';
import type { VersionHost } from '../../javascript/model-server.js';
import type { ResolvedOptions } from '../../options.js';
import type { VersionDescriptor } from '../entries/published.js';

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
  readonly instances: VersionDescriptor['instances'];
  readonly host: VersionHost;
}

/** A version whose code is found. */
export interface OpenedInstances {
  /** The configuration with what the model says of it. */
  readonly prepared: PreparedConfig;
  /** For the native side. */
  readonly settings: Record<string, string>;
  /** Starts the instances. */
  start(config: ModelConfig): Promise<void>;
  /** The engine has opened the version, or refused it (undefined), which ends it. */
  give(uid: number | undefined): Promise<void>;
}
