/**
 * What the owner of a server publishes of a model for every environment: one JSON text a model, which the
 * engine keeps. Environments read it again when the engine's epoch has moved.
 */

import type { PlacedInstance } from '../../scheduling/placed-instance.js';
import type { CompletedBatchSize, ModelConfig } from '../../config/index.js';
import type { ModelState } from '../../api/metadata.js';
import type { TritonErrorReason } from '../../errors.js';
import type { ChatTemplate, ChatTemplateFault } from '../files/chat-template.js';

/** The facts of a loaded version. They do not change, except when its instances are changed in place. */
export interface VersionDescriptor {
  /** The engine's id of the version. */
  readonly uid: number;
  readonly config: ModelConfig;
  readonly notes: readonly string[];
  /** What `max_batch_size` was completed from, because it was not written. */
  readonly batchSizeCompleted: CompletedBatchSize;
  /** Why it runs without batches although it might have them, and the line that turns them on. */
  readonly unbatched?: string | undefined;
  /** How it runs more slowly than it might, and what makes it faster. */
  readonly detour?: string | undefined;
  /** Labels of classes by name of the output, for outputs with a `label_filename`. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  /** The template of its chats; undefined if it has none. */
  readonly chatTemplate?: ChatTemplate | ChatTemplateFault | undefined;
  /** Whether its model is told the ids of requests: in JavaScript, or an ensemble with such a model. */
  readonly takesIds: boolean;
  readonly loadSeconds: number;
  /** Stands for its content in a response cache outside of the process; undefined: it is not known, or not needed. */
  readonly identity?: string | undefined;
  readonly instances: readonly PlacedInstance[];
  /** How often its instances were changed in place (default: never). */
  readonly changes?: number | undefined;
}

/** A version and its state. */
export interface PublishedVersion {
  readonly version: number;
  readonly state: ModelState;
  /** Why it is in that state; empty if there is nothing to say. */
  readonly reason: string;
  /** The reason of the error that took it out of service. */
  readonly errorReason?: TritonErrorReason | undefined;
  /** Set while the version is served. */
  readonly descriptor?: VersionDescriptor | undefined;
}

/** A version that was served before its model was unloaded for the sake of others. */
export interface SleepingVersion {
  readonly version: number;
  /** Its uid is of no version any more. */
  readonly descriptor: VersionDescriptor;
}

/** A model that a repository knows. */
export interface PublishedModel {
  /** State of the model if no version of it is known; empty if it was never loaded. */
  readonly state: ModelState | '';
  readonly reason: string;
  readonly versions: readonly PublishedVersion[];
  /**
   * Set for a model that a request loads if none of its versions is served. It lists what was served before, if that
   * is known; empty while it is served.
   */
  readonly lazy?: readonly SleepingVersion[] | undefined;
}
