/** The description of a version for the engine: tensors, queue, instances, warm-up, graph. */

import type { NativeBytes } from './folder.js';

/** An input or output, as a runtime describes it. */
export interface NativeTensorDescription {
  readonly name: string;
  /** Number of the datatype; 0 if Triton has no name for it. */
  readonly datatype: number;
  /** The runtime's own name for the type. */
  readonly typeName: string;
  /** The full shape, with -1 for variable dims; absent if the rank is unknown. */
  readonly shape?: readonly number[];
  readonly optional: boolean;
  /** Whether the tensor's values are shapes, which the runtime reads in host memory. */
  readonly isShapeTensor: boolean;
  /** The name of each dim, '' for a dim without a name; empty if the runtime has no names of dims. */
  readonly dimNames: readonly string[];
}

/** The inputs and outputs that a runtime found in a model. */
export interface NativeDescription {
  readonly inputs: readonly NativeTensorDescription[];
  readonly outputs: readonly NativeTensorDescription[];
  /**
   * Why outputs may have other rows than inputs although their dims have the same name; '' if there is no sign
   * of it.
   */
  readonly rowsVary: string;
  /**
   * The maximum number of rows of a batch, 0 for a model without batches; absent if the model has no such
   * limit.
   */
  readonly mostRows?: number;
  /** The configuration as the model completed it while it was loaded, as JSON; '' if it did not. */
  readonly config: string;
  /** The instance groups that the backend prefers, as a JSON list; '' if it has no preference. */
  readonly instanceGroups: string;
}

/**
 * A tensor of a complete configuration. `dims` are the full shape, with -1 first if the model batches, except
 * for shape tensors.
 */
export interface NativeTensorSpec {
  readonly name: string;
  readonly datatype: number;
  readonly dims: readonly number[];
  readonly optional: boolean;
  /** The shape that callers see, if it is not `dims`. */
  readonly outer?: readonly number[] | undefined;
  /** Whether the number of rows is the tensor's first value, and not its first dim. */
  readonly rowsInValues: boolean;
  /** Whether requests whose shapes of this input differ run together. */
  readonly ragged?: boolean | undefined;
  /** Whether the engine injects the input, or keeps the output (default: no). Callers neither send nor receive it. */
  readonly internal?: boolean | undefined;
  /** Whether it is the target of a {@link NativeBatchInput}. */
  readonly ofBatch?: boolean | undefined;
  /** Of an output that is cut by the shapes of an input: that input's position. */
  readonly shapedLike?: number | undefined;
}

/** An input that the engine makes from the shapes of another one; see `native/engine/request/model_io.h`. */
export interface NativeBatchInput {
  /** The number of Triton's `BatchInput.Kind`. */
  readonly kind: number;
  /** The positions of the source and of this input among the model's inputs. */
  readonly source: number;
  readonly target: number;
}

/** How requests of a priority level wait; see `native/engine/scheduling/queue_policy.h`. */
export interface NativeQueuePolicy {
  /** Whether a timed-out request goes behind the others; if false, it ends. */
  readonly delays: boolean;
  /** 0: no time-out. */
  readonly defaultTimeoutUs: number;
  readonly allowTimeoutOverride: boolean;
  /** 0: no limit. */
  readonly maxQueueSize: number;
}

/** Priority levels and their policies. */
export interface NativeQueuePolicies {
  /** 0: there are no levels. */
  readonly levels: number;
  readonly defaultLevel: number;
  readonly general: NativeQueuePolicy;
  readonly own: readonly (NativeQueuePolicy & { readonly level: number })[];
}

/** The dynamic batcher's policy. If absent, every request runs alone. */
export interface NativeScheduling {
  readonly maxBatchSize: number;
  readonly preferredBatchSizes: readonly number[];
  readonly maxQueueDelayUs: number;
  /** Whether requests with another shape than the batch's are skipped; if false, they end the batch. */
  readonly acrossShapes: boolean;
}

/** A control tensor; see `native/engine/scheduling/sequence_policy.h`. */
export interface NativeSequenceControl {
  readonly kind: 'start' | 'end' | 'ready' | 'id';
  /** The position among the model's inputs. */
  readonly input: number;
  readonly datatype: number;
  /** The values for false and true; empty for 'id'. */
  readonly values: readonly number[];
}

/** A tensor that the engine keeps from one request of a sequence to the next. */
export interface NativeSequenceState {
  /** The positions among the model's inputs and outputs. */
  readonly input: number;
  readonly output: number;
  readonly datatype: number;
  /** The shape in the first request, with 1 first if the model batches. */
  readonly firstShape: readonly number[];
  /** The bytes in the first request; undefined: zeros, or empty strings. */
  readonly firstBytes: Uint8Array | undefined;
  /** Whether the shape never changes. */
  readonly sameBuffer: boolean;
}

/** The sequence batcher's policy. */
export interface NativeSequencePolicy {
  readonly strategy: 'direct' | 'oldest';
  /** How many sequences an instance has at a time. */
  readonly slots: number;
  readonly maxBatchSize: number;
  readonly maxIdleUs: number;
  readonly minimumSlotUtilization: number;
  readonly maxQueueDelayUs: number;
  /** Of 'oldest'; if absent, every request runs alone. */
  readonly dynamic: NativeScheduling | undefined;
  /** Of 'oldest': whether the responses of an instance are sent in the order of their requests. */
  readonly preserveOrdering: boolean;
  /** Whether a request without an id is a sequence of its own. */
  readonly iterative: boolean;
  /** Whether the version replaces another one. */
  readonly reloaded: boolean;
  readonly controls: readonly NativeSequenceControl[];
  readonly states: readonly NativeSequenceState[];
}

/** What a thread is bound to; see `native/platform/host_policy.h`. */
export interface NativeHostPolicy {
  readonly name: string;
  /** Empty: all cores. */
  readonly cores: readonly { readonly first: number; readonly last: number }[];
  /** Undefined: any. */
  readonly numaNode?: number | undefined;
}

/** An instance of a version. */
export interface NativeInstanceSpec {
  readonly name: string;
  /** Id of a GPU, or -1 for the CPU. */
  readonly device: number;
  /** What its threads are bound to; undefined: nothing. */
  readonly hostPolicy?: NativeHostPolicy | undefined;
  /** What a batch of it needs of the rate limiter. */
  readonly resources: readonly { readonly name: string; readonly global: boolean; readonly count: number }[];
  readonly priority: number;
}

/** An input of a warm-up sample. */
export interface NativeWarmupInput {
  /** The input's position among the model's inputs. */
  readonly input: number;
  readonly datatype: number;
  /** The shape that the model sees, with 1 first if the model batches. */
  readonly shape: readonly number[];
  /** Bytes of one request's data. */
  readonly size: number;
  readonly data: 'zero' | 'random' | NativeBytes;
}

/**
 * A warm-up sample. Before the version serves, every instance runs it `count` times as a batch of `batchSize`
 * equal requests.
 */
export interface NativeWarmupSample {
  readonly name: string;
  readonly batchSize: number;
  readonly count: number;
  readonly inputs: readonly NativeWarmupInput[];
}

/** An input or output of a step's model, with the number of the ensemble's tensor that it maps to. */
export interface NativeMapping {
  readonly name: string;
  readonly tensor: number;
}

/**
 * An ensemble's graph; see `native/engine/ensemble/plan.h`. The first tensors are the ensemble's inputs, in
 * their order.
 */
export interface NativeEnsemblePlan {
  readonly maxBatchSize: number;
  readonly inputs: readonly NativeTensorSpec[];
  readonly outputs: readonly NativeTensorSpec[];
  readonly tensors: number;
  /** The configuration's name of each tensor, for messages. */
  readonly tensorNames: readonly string[];
  /** The tensor number of each output. */
  readonly outputTensors: readonly number[];
  readonly steps: readonly {
    readonly model: string;
    readonly inputs: readonly NativeMapping[];
    readonly outputs: readonly NativeMapping[];
    /** Whether each response of this step starts the steps that follow it. */
    readonly decoupled: boolean;
  }[];
  /** The maximum number of requests in each step, over all requests of the ensemble; 0: no limit. */
  readonly maxInflight: number;
  /** Whether several steps may produce the same tensor, and a step without a required input is skipped. */
  readonly conditional: boolean;
  /** Whether responses are cached, if the server has a cache. */
  readonly cached: boolean;
}

/** The configuration with which an opened version serves. */
export interface NativeVersionConfig {
  /** The whole configuration as JSON in Triton's form, which the backend gets. */
  readonly json: string;
  readonly maxBatchSize: number;
  readonly inputs: readonly NativeTensorSpec[];
  readonly outputs: readonly NativeTensorSpec[];
  readonly batchInputs: readonly NativeBatchInput[];
  readonly scheduling: NativeScheduling | undefined;
  /** If absent, the model has no sequences. */
  readonly sequences: NativeSequencePolicy | undefined;
  /** If absent, there is one queue without limits. */
  readonly queue: NativeQueuePolicies | undefined;
  /** Whether responses are sent in the order of their requests. */
  readonly preserveOrdering: boolean;
  /**
   * Whether a batch that fails as a whole is run again in halves, if the backend allows the model to run again.
   */
  readonly rerunInHalves: boolean;
  /** Whether a request may get any number of responses. */
  readonly decoupled: boolean;
  /**
   * How long a retirement waits for accepted requests, in milliseconds, before it fails them and abandons the instances that do
   * not return; if absent, until they have ended.
   */
  readonly unloadTimeoutMs: number | undefined;
  /** Whether responses are cached, if the server has a cache. */
  readonly cached: boolean;
  /**
   * Stands for the content of the version in the keys of a cache outside of the process; '': nothing of it is stored there.
   */
  readonly identity: string;
  readonly instances: readonly NativeInstanceSpec[];
  /** The samples that each instance runs before the version serves. */
  readonly warmup: readonly NativeWarmupSample[];
  /** A batch that is known to take at most this time may run on the JS thread; 0: no batch does. */
  readonly inlineBudgetNs: number;
  readonly latencies: NativeLatencyPolicy;
}

/** The latency data that is kept besides sums; see `native/engine/statistics/latencies.h`. */
export interface NativeLatencyPolicy {
  /** Whether to keep a histogram of each phase. */
  readonly histograms: boolean;
  /** Precision of quantiles: log2 of the number of classes for each power of two; 0: no quantiles are kept. */
  readonly windowBits: number;
  /** Upper bounds of the histogram of first responses; undefined: no histogram. */
  readonly firstResponseMs: readonly number[] | undefined;
}
