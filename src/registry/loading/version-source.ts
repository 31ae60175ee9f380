/** What a version is opened from whose instances are threads or processes. */

import type { NativeServer } from '../../addon/native/server.js';
import type { BackendContext } from '../../backends/backend.js';
import type { ParsedConfig, PreparedConfig } from '../../config/index.js';
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
