/** Types of the scheduling sections of a configuration: dynamic batching, sequences, ensembles. */

import type { DataType } from './types-tensors.js';

/**
 * Triton's `ModelQueuePolicy.TimeoutAction`: an expired request fails (REJECT), or goes behind the others
 * (DELAY).
 */
export type ModelQueuePolicyTimeoutAction = 'REJECT' | 'DELAY';

/** Triton's `ModelQueuePolicy`: limits of one queue. */
export interface ModelQueuePolicy {
  /** What happens to a request that has waited too long. */
  readonly timeout_action: ModelQueuePolicyTimeoutAction;
  /** Maximum wait, in microseconds; 0: no limit. */
  readonly default_timeout_microseconds: number;
  /** Whether a request may carry its own, shorter limit. */
  readonly allow_timeout_override: boolean;
  /** The maximum number of waiting requests; 0: no limit. */
  readonly max_queue_size: number;
}

/** Triton's `ModelDynamicBatching`: requests that wait together run together. */
export interface ModelDynamicBatching {
  /** Batch sizes that are run at once when reached. If empty, only the largest size, `max_batch_size`. */
  readonly preferred_batch_size: readonly number[];
  /** How long the oldest request may wait for others, in microseconds. */
  readonly max_queue_delay_microseconds: number;
  /** Whether responses come in the order of their requests. */
  readonly preserve_ordering: boolean;
  /** Number of priority levels, of which 1 is the highest; 0: no priorities. */
  readonly priority_levels: number;
  /** Level of requests without a priority. */
  readonly default_priority_level: number;
  /** Policy of the levels without their own policy. */
  readonly default_queue_policy?: ModelQueuePolicy | undefined;
  /** Policies by level. */
  readonly priority_queue_policy: Readonly<Record<string, ModelQueuePolicy>>;
}

/** Triton's `ModelSequenceBatching`: requests of one sequence go to one instance, in order. */
export interface ModelSequenceBatching {
  /** One batch slot for each sequence. Excludes `oldest`. */
  readonly direct?: ModelSequenceBatchingStrategyDirect | undefined;
  /** The oldest requests of all sequences run first. Excludes `direct`. */
  readonly oldest?: ModelSequenceBatchingStrategyOldest | undefined;
  /** A sequence ends after this time without a request, in microseconds. */
  readonly max_sequence_idle_microseconds: number;
  /** Tensors that inform the model about the sequence. */
  readonly control_input: readonly ModelSequenceBatchingControlInput[];
  /** Tensors that the server carries from one request of a sequence to the next. */
  readonly state: readonly ModelSequenceBatchingState[];
  /** Whether a request is executed repeatedly until the backend ends it. */
  readonly iterative_sequence: boolean;
}

/** Triton's `ModelSequenceBatching.Control.Kind`. */
export type ModelSequenceBatchingControlKind =
  'CONTROL_SEQUENCE_START' | 'CONTROL_SEQUENCE_READY' | 'CONTROL_SEQUENCE_END' | 'CONTROL_SEQUENCE_CORRID';

/** Triton's `ModelSequenceBatching.Control`: a control signal. */
export interface ModelSequenceBatchingControl {
  /** The kind of signal. */
  readonly kind: ModelSequenceBatchingControlKind;
  /** Values for false and true of an INT32 tensor. */
  readonly int32_false_true: readonly number[];
  /** Values for false and true of an FP32 tensor. */
  readonly fp32_false_true: readonly number[];
  /** Values for false and true of a BOOL tensor. */
  readonly bool_false_true: readonly boolean[];
  /** Type of a correlation id tensor. */
  readonly data_type: DataType;
}

/** Triton's `ModelSequenceBatching.ControlInput`: a tensor that carries signals. */
export interface ModelSequenceBatchingControlInput {
  /** The model's input. */
  readonly name: string;
  /** The signals that it carries. */
  readonly control: readonly ModelSequenceBatchingControl[];
}

/** Triton's `ModelSequenceBatching.InitialState`. */
export interface ModelSequenceBatchingInitialState {
  /** The state's type. */
  readonly data_type: DataType;
  /** Fixed dims, without the batch dimension. */
  readonly dims: readonly number[];
  /** Its presence means zeros. Excludes `data_file`. */
  readonly zero_data?: boolean | undefined;
  /** A file in the model's `initial_state` directory. Excludes `zero_data`. */
  readonly data_file?: string | undefined;
  /** A name for messages. */
  readonly name: string;
}

/** Triton's `ModelSequenceBatching.State`: a tensor that is carried from request to request. */
export interface ModelSequenceBatchingState {
  /** The model's input that receives the state. */
  readonly input_name: string;
  /** The model's output that becomes the next state. */
  readonly output_name: string;
  /** Element type. */
  readonly data_type: DataType;
  /** Dims without the batch dimension; -1 is variable. */
  readonly dims: readonly number[];
  /** The state of a new sequence; at most one entry. */
  readonly initial_state: readonly ModelSequenceBatchingInitialState[];
  /** Whether both directions share one buffer. */
  readonly use_same_buffer_for_input_output: boolean;
  /** Whether the state is in a CUDA buffer that grows in place. */
  readonly use_growable_memory: boolean;
}

/** Triton's `ModelSequenceBatching.StrategyDirect`. */
export interface ModelSequenceBatchingStrategyDirect {
  /** Maximum wait for more sequences, in microseconds. */
  readonly max_queue_delay_microseconds: number;
  /** The fraction of slots (0 to 1) that must be filled to run at once. */
  readonly minimum_slot_utilization: number;
}

/** Triton's `ModelSequenceBatching.StrategyOldest`. */
export interface ModelSequenceBatchingStrategyOldest {
  /** How many sequences an instance serves at a time; 0: `max_batch_size`, but at least 1. */
  readonly max_candidate_sequences: number;
  /** The same as in dynamic batching. */
  readonly preferred_batch_size: readonly number[];
  /** The same as in dynamic batching, in microseconds. */
  readonly max_queue_delay_microseconds: number;
  /** The same as in dynamic batching. */
  readonly preserve_ordering: boolean;
}

/** Triton's `ModelEnsembling`: a graph of models. */
export interface ModelEnsembling {
  /** The steps. Their tensors determine their order. */
  readonly step: readonly ModelEnsemblingStep[];
  /** The maximum number of requests in flight in each step; 0: no limit. */
  readonly max_inflight_requests: number;
}

/** Triton's `ModelEnsembling.Step`: one model of the graph. */
export interface ModelEnsemblingStep {
  /** The model. */
  readonly model_name: string;
  /** The model's version; -1: the latest. */
  readonly model_version: number;
  /** The ensemble's tensor for each of the model's inputs. */
  readonly input_map: Readonly<Record<string, string>>;
  /** The ensemble's tensor for each of the model's outputs. */
  readonly output_map: Readonly<Record<string, string>>;
  /** Reserved by Triton. */
  readonly model_namespace: string;
}
