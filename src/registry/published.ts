/**
 * What the owner of a server publishes of a model for every environment: one JSON text a model, kept by the engine.
 * Environments read it again when the engine's epoch has moved.
 */

import type { ModelConfig } from '../config/index.js';

/** Triton's states of a model version. */
export type ModelState = 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING';

/** Fixed facts of a loaded version. */
export interface VersionDescriptor {
  /** The engine's id. */
  readonly uid: number;
  readonly config: ModelConfig;
  readonly notes: readonly string[];
  /** `max_batch_size` is the backend's default, not what was written. */
  readonly batchSizeCompleted: boolean;
  /** Labels of classes by output name, of outputs with a `label_filename`. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly instances: readonly { readonly name: string; readonly kind: string; readonly device: number }[];
}

/** One version and its state. */
export interface PublishedVersion {
  readonly version: number;
  readonly state: ModelState;
  /** Why it is in that state; empty where there is nothing to say. */
  readonly reason: string;
  /** While it is served. */
  readonly descriptor?: VersionDescriptor | undefined;
}

/** A model that a repository knows. */
export interface PublishedModel {
  /** State of the model where no version of it is known; empty when it was never loaded. */
  readonly state: ModelState | '';
  readonly reason: string;
  readonly versions: readonly PublishedVersion[];
}
