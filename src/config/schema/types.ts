/**
 * A model's configuration as JavaScript sees it: the JSON shape of Triton's `ModelConfig`, with Triton's names.
 *
 * Scalars are always there, lists and maps too; messages only when set; of a oneof (`version_policy.latest` or `all`,
 * `dynamic_batching` or `sequence_batching`, …) at most one member. 64-bit integers are plain numbers. The TypeScript
 * name of a nested message is its full name without the dots.
 */

import type { ModelOptimizationPolicy } from './types-optimization.js';
import type { BatchInput, BatchOutput, DataType, ModelInput, ModelOutput } from './types-tensors.js';
import type { ModelDynamicBatching, ModelEnsembling, ModelSequenceBatching } from './types-scheduling.js';

export type * from './types-optimization.js';
export type * from './types-scheduling.js';
export type * from './types-tensors.js';

/** Triton's `ModelInstanceGroup.Kind`: where instances live. */
export type ModelInstanceGroupKind = 'KIND_AUTO' | 'KIND_GPU' | 'KIND_CPU' | 'KIND_MODEL';

/** Triton's `ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind`. */
export type ModelInstanceGroupSecondaryDeviceSecondaryDeviceKind = 'KIND_NVDLA';

/** Triton's `ModelConfig`: everything the server knows about a model before it opens its file. */
export interface ModelConfig {
  /** The model's name, which is also its directory's. */
  readonly name: string;
  /** The framework by its older name, such as `onnxruntime_onnx`; `ensemble` for ensembles. */
  readonly platform: string;
  /** The backend, such as `onnxruntime`. */
  readonly backend: string;
  /** File name of the backend's library. */
  readonly runtime: string;
  /** Which versions are served; set and empty: all. */
  readonly version_policy?: ModelVersionPolicy | undefined;
  /** Largest batch; 0: the tensors have no batch dimension. */
  readonly max_batch_size: number;
  /** The model's inputs. */
  readonly input: readonly ModelInput[];
  /** The model's outputs. */
  readonly output: readonly ModelOutput[];
  /** Inputs that the server makes from the batch. */
  readonly batch_input: readonly BatchInput[];
  /** Outputs that are split in a special way. */
  readonly batch_output: readonly BatchOutput[];
  /** Settings of the framework and of memory. */
  readonly optimization?: ModelOptimizationPolicy | undefined;
  /** One of a kind with the other two schedulers. */
  readonly dynamic_batching?: ModelDynamicBatching | undefined;
  /** One of a kind with the other two schedulers. */
  readonly sequence_batching?: ModelSequenceBatching | undefined;
  /** One of a kind with the other two schedulers. */
  readonly ensemble_scheduling?: ModelEnsembling | undefined;
  /** The instances that execute the model. */
  readonly instance_group: readonly ModelInstanceGroup[];
  /** File or directory of the model inside a version's directory. */
  readonly default_model_filename: string;
  /** File by CUDA compute capability (`7.5`). */
  readonly cc_model_filenames: Readonly<Record<string, string>>;
  /** Additional labels of the model's metrics. */
  readonly metric_tags: Readonly<Record<string, string>>;
  /** Free parameters, given a meaning by the backend. */
  readonly parameters: Readonly<Record<string, ModelParameter>>;
  /** Requests that each instance executes before the model is ready. */
  readonly model_warmup: readonly ModelWarmup[];
  /** Libraries of custom operators. */
  readonly model_operations?: ModelOperations | undefined;
  /** Whether a request may have other than one response. */
  readonly model_transaction_policy?: ModelTransactionPolicy | undefined;
  /** Plug-ins that prepare the model's directory. */
  readonly model_repository_agents?: ModelRepositoryAgents | undefined;
  /** Whether equal requests are answered from a cache. */
  readonly response_cache?: ModelResponseCache | undefined;
  /** Overrides of the model's metrics. */
  readonly model_metrics?: ModelMetrics | undefined;
}

/** Triton's `ModelVersionPolicy`: at most one member is set; none means all versions. */
export interface ModelVersionPolicy {
  /** The newest ones. */
  readonly latest?: ModelVersionPolicyLatest | undefined;
  /** Every version there is. */
  readonly all?: ModelVersionPolicyAll | undefined;
  /** The listed ones. */
  readonly specific?: ModelVersionPolicySpecific | undefined;
}

/** Triton's `ModelVersionPolicy.Latest`. */
export interface ModelVersionPolicyLatest {
  /** How many of the largest version numbers are served. */
  readonly num_versions: number;
}

/** Triton's `ModelVersionPolicy.All`, which has no fields. */
export type ModelVersionPolicyAll = Readonly<Record<string, never>>;

/** Triton's `ModelVersionPolicy.Specific`. */
export interface ModelVersionPolicySpecific {
  /** The versions that are served, as far as they exist. */
  readonly versions: readonly number[];
}

/** Triton's `ModelInstanceGroup`: instances of one kind. */
export interface ModelInstanceGroup {
  /** Instances are named after it: `<name>_0`, `<name>_1`, … */
  readonly name: string;
  /** Where the instances live. */
  readonly kind: ModelInstanceGroupKind;
  /** Number of instances; on GPUs, for each of them. */
  readonly count: number;
  /** What an instance needs of the rate limiter. */
  readonly rate_limiter?: ModelRateLimiter | undefined;
  /** Ids of GPUs. */
  readonly gpus: readonly number[];
  /** Additional devices of an instance. */
  readonly secondary_devices: readonly ModelInstanceGroupSecondaryDevice[];
  /** TensorRT optimisation profiles. */
  readonly profile: readonly string[];
  /** The instances exist and receive no requests. */
  readonly passive: boolean;
  /** Name of a host policy. */
  readonly host_policy: string;
}

/** Triton's `ModelInstanceGroup.SecondaryDevice`. */
export interface ModelInstanceGroupSecondaryDevice {
  /** Kind of device. */
  readonly kind: ModelInstanceGroupSecondaryDeviceSecondaryDeviceKind;
  /** Its id. */
  readonly device_id: number;
}

/** Triton's `ModelRateLimiter`. */
export interface ModelRateLimiter {
  /** What an instance must hold while it executes. */
  readonly resources: readonly ModelRateLimiterResource[];
  /** Weight; 2 gets half the turns of 1. */
  readonly priority: number;
}

/** Triton's `ModelRateLimiter.Resource`. */
export interface ModelRateLimiterResource {
  /** Any name. */
  readonly name: string;
  /** Shared by all devices. */
  readonly global: boolean;
  /** Units needed. */
  readonly count: number;
}

/** Triton's `ModelParameter`. */
export interface ModelParameter {
  /** The value. */
  readonly string_value: string;
}

/** Triton's `ModelWarmup`: a sample request. */
export interface ModelWarmup {
  /** A name for messages. */
  readonly name: string;
  /** Number of requests in the batch; 0: the sample is not used. */
  readonly batch_size: number;
  /** The inputs by name. */
  readonly inputs: Readonly<Record<string, ModelWarmupInput>>;
  /** Repetitions; 0 is once. */
  readonly count: number;
}

/** Triton's `ModelWarmup.Input`. */
export interface ModelWarmupInput {
  /** Element type. */
  readonly data_type: DataType;
  /** Fixed dims, without the batch dimension. */
  readonly dims: readonly number[];
  /** Its presence means zeros. One of a kind with the other two. */
  readonly zero_data?: boolean | undefined;
  /** Its presence means random bytes. One of a kind with the other two. */
  readonly random_data?: boolean | undefined;
  /** A file in the model's `warmup` directory. One of a kind with the other two. */
  readonly input_data_file?: string | undefined;
}

/** Triton's `ModelOperations`. */
export interface ModelOperations {
  /** Libraries of custom operators. */
  readonly op_library_filename: readonly string[];
}

/** Triton's `ModelTransactionPolicy`. */
export interface ModelTransactionPolicy {
  /** A request may have none, one or many responses. */
  readonly decoupled: boolean;
}

/** Triton's `ModelRepositoryAgents`. */
export interface ModelRepositoryAgents {
  /** Called in order. */
  readonly agents: readonly ModelRepositoryAgentsAgent[];
}

/** Triton's `ModelRepositoryAgents.Agent`. */
export interface ModelRepositoryAgentsAgent {
  /** Name of the plug-in. */
  readonly name: string;
  /** Its options. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Triton's `ModelResponseCache`. */
export interface ModelResponseCache {
  /** Answer equal requests from the cache. */
  readonly enable: boolean;
}

/** Triton's `ModelMetrics`. */
export interface ModelMetrics {
  /** One entry a metric family. */
  readonly metric_control: readonly ModelMetricsMetricControl[];
}

/** Triton's `ModelMetrics.MetricControl`. */
export interface ModelMetricsMetricControl {
  /** Which metric. */
  readonly metric_identifier?: ModelMetricsMetricControlMetricIdentifier | undefined;
  /** New buckets of a histogram. */
  readonly histogram_options?: ModelMetricsMetricControlHistogramOptions | undefined;
}

/** Triton's `ModelMetrics.MetricControl.MetricIdentifier`. */
export interface ModelMetricsMetricControlMetricIdentifier {
  /** Name of the metric family. */
  readonly family: string;
}

/** Triton's `ModelMetrics.MetricControl.HistogramOptions`. */
export interface ModelMetricsMetricControlHistogramOptions {
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

/** A part of a configuration in which anything may be left out. */
type Partly<T> = T extends readonly (infer E)[]
  ? readonly Partly<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Partly<T[K]> | undefined }
    : T;

/** A configuration as a caller or a file gives it: {@link ModelConfig} in which anything may be absent. */
export type ModelConfigInput = Partly<ModelConfig>;
