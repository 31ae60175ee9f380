/** What is tried, and how. */

import type { ModelConfigInput } from '../../config/index.js';
import type { ServerOptions } from '../../options.js';
import type { PerfOptions } from '../../perf/run.js';
import type { Objective } from '../search/objective.js';

/** See the head of this file. */
export interface TrialOptions {
  readonly server: Omit<ServerOptions, 'modelControlMode' | 'loadModels'>;
  /** The model that gets the requests. */
  readonly model: string;
  readonly version: string | undefined;
  /** Models that the model calls without declaring so: they are loaded before it, and keep their configurations. */
  readonly composing: readonly string[];
  /** Requests at once, ascending. */
  readonly levels: readonly number[];
  readonly requests: Omit<
    PerfOptions,
    'place' | 'model' | 'version' | 'load' | 'plan' | 'headers' | 'composing'
  >;
  readonly objective: Objective;
  /** Neither a load nor an answer is waited for longer, in milliseconds. */
  readonly budgetMs: number;
}

/** A model with another configuration. */
export interface ChangedModel {
  readonly name: string;
  readonly config: ModelConfigInput;
}
