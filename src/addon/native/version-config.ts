/** What the engine is told of a version: tensors, queue, instances, warm-up, graph. */

import type { NativeBytes } from './folder.js';

/** An input or output, as a runtime describes it. */
export interface NativeTensorDescription {
  readonly name: string;
  /** Number of the datatype; 0 where Triton has no name for the type. */
  readonly datatype: number;
  /** The runtime's own name for the type. */
  readonly typeName: string;
  /** The full shape, -1 for variable dims; absent if not even the rank is known. */
  readonly shape?: readonly number[];
  readonly optional: boolean;
  /** Whether its values are shapes, which the runtime reads in the memory of the processor. */
  readonly isShapeTensor: boolean;
  /** The name of each dim, '' for one without; empty if the runtime has no names of dims. */
  readonly dimNames: readonly string[];
}

/** The inputs and outputs that a runtime found in a model. */
export interface NativeDescription {
  readonly inputs: readonly NativeTensorDescription[];
  readonly outputs: readonly NativeTensorDescription[];
  /**
   * Why outputs may have other rows than inputs although their dims have the same name; '' if nothing
   * suggests it.
   */
  readonly rowsVary: string;
  /** The most rows of a batch, 0 for a model without batches; absent where the model has no such limit. */
  readonly mostRows?: number;
}

/** A tensor of a complete configuration. `dims` are full, with -1 first if the model batches, except of shape tensors. */
export interface NativeTensorSpec {
  readonly name: string;
  readonly datatype: number;
  readonly dims: readonly number[];
  readonly optional: boolean;
  /** What callers see, where that is not `dims`. */
  readonly outer?: readonly number[] | undefined;
  /** Whether its first value is the rows, and not its first dim. */
  readonly rowsInValues: boolean;
}

/** How requests of a level wait; see `native/engine/scheduling/queue_policy.h`. */
export interface NativeQueuePolicy {
  /** Past its time a request goes behind the others; else it ends. */
  readonly delays: boolean;
  /** 0: for ever. */
  readonly defaultTimeoutUs: number;
  readonly allowTimeoutOverride: boolean;
  /** 0: any number. */
  readonly maxQueueSize: number;
}

/** Levels and their policies. */
export interface NativeQueuePolicies {
  /** 0: there are no levels. */
  readonly levels: number;
  readonly defaultLevel: number;
  readonly general: NativeQueuePolicy;
  readonly own: readonly (NativeQueuePolicy & { readonly level: number })[];
}

/** The dynamic batcher's policy. If it is absent, every request runs alone. */
export interface NativeScheduling {
  readonly maxBatchSize: number;
  readonly preferredBatchSizes: readonly number[];
  readonly maxQueueDelayUs: number;
  /** Whether requests of another shape than the batch's are passed over instead of closing it. */
  readonly acrossShapes: boolean;
}

/** An instance of a version. */
export interface NativeInstanceSpec {
  readonly name: string;
  /** Id of a GPU, or -1 for the CPU. */
  readonly device: number;
}

/** An input of a warm-up's sample. */
export interface NativeWarmupInput {
  /** Its position in the model's inputs. */
  readonly input: number;
  readonly datatype: number;
  /** As the model sees it, with 1 first where the model batches. */
  readonly shape: readonly number[];
  /** Bytes of one request. */
  readonly size: number;
  readonly data: 'zero' | 'random' | NativeBytes;
}

/** What every instance runs `count` times before the version serves: `batchSize` equal requests together. */
export interface NativeWarmupSample {
  readonly name: string;
  readonly batchSize: number;
  readonly count: number;
  readonly inputs: readonly NativeWarmupInput[];
}

/** An input or output of a step's model, and the number of the ensemble's tensor that it is. */
export interface NativeMapping {
  readonly name: string;
  readonly tensor: number;
}

/** An ensemble's graph; see `native/engine/ensemble/plan.h`. The first tensors are its inputs, in their order. */
export interface NativeEnsemblePlan {
  readonly maxBatchSize: number;
  readonly inputs: readonly NativeTensorSpec[];
  readonly outputs: readonly NativeTensorSpec[];
  readonly tensors: number;
  /** The name of each tensor in the configuration, for messages. */
  readonly tensorNames: readonly string[];
  /** The tensor of each output. */
  readonly outputTensors: readonly number[];
  readonly steps: readonly {
    readonly model: string;
    readonly inputs: readonly NativeMapping[];
    readonly outputs: readonly NativeMapping[];
    /** Whether each of its responses starts the steps behind it. */
    readonly decoupled: boolean;
  }[];
  /** The most requests in each step, over all requests of the ensemble; 0: no limit. */
  readonly maxInflight: number;
  /** Whether several steps may produce a tensor, and steps without a required input are skipped. */
  readonly conditional: boolean;
}

/** What an opened version needs to serve. */
export interface NativeVersionConfig {
  readonly maxBatchSize: number;
  readonly inputs: readonly NativeTensorSpec[];
  readonly outputs: readonly NativeTensorSpec[];
  readonly scheduling: NativeScheduling | undefined;
  /** Absent: one queue without limits. */
  readonly queue: NativeQueuePolicies | undefined;
  /** Whether responses leave in the order of their requests. */
  readonly preserveOrdering: boolean;
  /** Whether a batch that fails as a whole is run again in halves, if the backend's model may be run again. */
  readonly rerunInHalves: boolean;
  /** Whether a request gets any number of responses. */
  readonly decoupled: boolean;
  readonly instances: readonly NativeInstanceSpec[];
  /** What each instance runs before the version serves. */
  readonly warmup: readonly NativeWarmupSample[];
  /** A batch that is known to end within this time may run on the JS thread; 0: no batch does. */
  readonly inlineBudgetNs: number;
  readonly latencies: NativeLatencyPolicy;
}

/** What is kept of latencies besides their sums; `native/engine/statistics/latencies.h`. */
export interface NativeLatencyPolicy {
  /** Of each phase. */
  readonly histograms: boolean;
  /** Precision of quantiles: classes for each power of two, as a power of two; 0: none are kept. */
  readonly windowBits: number;
  /** Upper bounds of the histogram of first responses; undefined: there is none. */
  readonly firstResponseMs: readonly number[] | undefined;
}
