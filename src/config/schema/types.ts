/**
 * A model's configuration as JavaScript sees it: the JSON shape of Triton's `ModelConfig`, with Triton's
 * names.
 *
 * Scalars, lists and maps are always present; messages only if they are set. Of a oneof
 * (`version_policy.latest` or `all`, `dynamic_batching` or `sequence_batching`, …) at most one member is set.
 * 64-bit integers are plain numbers. The TypeScript name of a nested message is its full name without the
 * dots.
 */

import type { ModelOptimizationPolicy } from './types-optimization.js';
import type { BatchInput, BatchOutput, DataType, ModelInput, ModelOutput } from './types-tensors.js';
import type { ModelDynamicBatching, ModelEnsembling, ModelSequenceBatching } from './types-scheduling.js';

export type * from './types-optimization.js';
export type * from './types-scheduling.js';
export type * from './types-tensors.js';

/** Triton's `ModelInstanceGroup.Kind`: where instances run. */
export type ModelInstanceGroupKind = 'KIND_AUTO' | 'KIND_GPU' | 'KIND_CPU' | 'KIND_MODEL';

/** Triton's `ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind`. */
export type ModelInstanceGroupSecondaryDeviceSecondaryDeviceKind = 'KIND_NVDLA';

/**
 * Triton's `ModelConfig`: everything that the server knows about a model before it opens the model's file.
 *
 * @example
 * const { max_batch_size, instance_group } = model.config;
 */
export interface ModelConfig {
  /** The model's name, which is also the name of its directory. */
  readonly name: string;
  /** The framework by its older name, such as `onnxruntime_onnx`; `ensemble` for an ensemble. */
  readonly platform: string;
  /** The backend, such as `onnxruntime`. */
  readonly backend: string;
  /** File name of the backend's library. */
  readonly runtime: string;
  /** Which versions are served (default: the latest); an empty policy means all. */
  readonly version_policy?: ModelVersionPolicy | undefined;
  /** The maximum batch size; 0: the tensors have no batch dimension. */
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
  /** The dynamic batcher. Excludes the other two schedulers. */
  readonly dynamic_batching?: ModelDynamicBatching | undefined;
  /** The sequence batcher. Excludes the other two schedulers. */
  readonly sequence_batching?: ModelSequenceBatching | undefined;
  /** The steps of an ensemble. Excludes the other two schedulers. */
  readonly ensemble_scheduling?: ModelEnsembling | undefined;
  /** The instances that execute the model. */
  readonly instance_group: readonly ModelInstanceGroup[];
  /** File or directory of the model inside a version's directory. */
  readonly default_model_filename: string;
  /** Files by CUDA compute capability (`7.5`). */
  readonly cc_model_filenames: Readonly<Record<string, string>>;
  /** Additional labels of the model's metrics. */
  readonly metric_tags: Readonly<Record<string, string>>;
  /** Free parameters, whose meaning the backend defines. */
  readonly parameters: Readonly<Record<string, ModelParameter>>;
  /** Requests that each instance executes before the model is ready. */
  readonly model_warmup: readonly ModelWarmup[];
  /** Libraries of custom operators. */
  readonly model_operations?: ModelOperations | undefined;
  /** Whether a request may get more or fewer than one response. */
  readonly model_transaction_policy?: ModelTransactionPolicy | undefined;
  /** Plug-ins that prepare the model's directory. */
  readonly model_repository_agents?: ModelRepositoryAgents | undefined;
  /** Whether equal requests are answered from a cache. */
  readonly response_cache?: ModelResponseCache | undefined;
  /** Settings of the model's metrics. */
  readonly model_metrics?: ModelMetrics | undefined;
}

/** Triton's `ModelVersionPolicy`. At most one member is set; if none is, all versions are served. */
export interface ModelVersionPolicy {
  /** The newest versions. */
  readonly latest?: ModelVersionPolicyLatest | undefined;
  /** Every existing version. */
  readonly all?: ModelVersionPolicyAll | undefined;
  /** The listed versions. */
  readonly specific?: ModelVersionPolicySpecific | undefined;
}

/** Triton's `ModelVersionPolicy.Latest`. */
export interface ModelVersionPolicyLatest {
  /** How many versions are served: those with the largest numbers. */
  readonly num_versions: number;
}

/** Triton's `ModelVersionPolicy.All`, which has no fields. */
export type ModelVersionPolicyAll = Readonly<Record<string, never>>;

/** Triton's `ModelVersionPolicy.Specific`. */
export interface ModelVersionPolicySpecific {
  /** The versions that are served, if they exist. */
  readonly versions: readonly number[];
}

/** Triton's `ModelInstanceGroup`: instances of one kind. */
export interface ModelInstanceGroup {
  /** Prefix of the instances' names: `<name>_0`, `<name>_1`, … */
  readonly name: string;
  /** Where the instances run. */
  readonly kind: ModelInstanceGroupKind;
  /** Number of instances; for KIND_GPU, the number on each GPU. */
  readonly count: number;
  /** The resources that an instance needs from the rate limiter. */
  readonly rate_limiter?: ModelRateLimiter | undefined;
  /** Ids of GPUs. */
  readonly gpus: readonly number[];
  /** Additional devices of an instance. */
  readonly secondary_devices: readonly ModelInstanceGroupSecondaryDevice[];
  /** TensorRT optimisation profiles. */
  readonly profile: readonly string[];
  /** Whether the instances receive no requests. */
  readonly passive: boolean;
  /** Name of a host policy. */
  readonly host_policy: string;
}

/** Triton's `ModelInstanceGroup.SecondaryDevice`. */
export interface ModelInstanceGroupSecondaryDevice {
  /** Kind of device. */
  readonly kind: ModelInstanceGroupSecondaryDeviceSecondaryDeviceKind;
  /** Id of the device. */
  readonly device_id: number;
}

/** Triton's `ModelRateLimiter`: the resources and the priority of an instance. */
export interface ModelRateLimiter {
  /** The resources that an instance must hold while it executes. */
  readonly resources: readonly ModelRateLimiterResource[];
  /** The weight. An instance with weight 2 gets half as many turns as one with weight 1. */
  readonly priority: number;
}

/** Triton's `ModelRateLimiter.Resource`. */
export interface ModelRateLimiterResource {
  /** The resource's name, which may be any text. */
  readonly name: string;
  /** Whether all devices share it. */
  readonly global: boolean;
  /** How many units are needed. */
  readonly count: number;
}

/** Triton's `ModelParameter`: a value of `parameters`. */
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
  /** How many times each instance runs it; 0: once. */
  readonly count: number;
}

/** Triton's `ModelWarmup.Input`: an input of a sample request. */
export interface ModelWarmupInput {
  /** Element type. */
  readonly data_type: DataType;
  /** Fixed dims, without the batch dimension. */
  readonly dims: readonly number[];
  /** Its presence means zeros. Excludes the other two. */
  readonly zero_data?: boolean | undefined;
  /** Its presence means random bytes. Excludes the other two. */
  readonly random_data?: boolean | undefined;
  /** A file in the model's `warmup` directory. Excludes the other two. */
  readonly input_data_file?: string | undefined;
}

/** Triton's `ModelOperations`: libraries of operators. */
export interface ModelOperations {
  /** Libraries of custom operators. */
  readonly op_library_filename: readonly string[];
}

/** Triton's `ModelTransactionPolicy`: how many responses a request may have. */
export interface ModelTransactionPolicy {
  /** Whether a request may get zero, one or many responses. */
  readonly decoupled: boolean;
}

/** Triton's `ModelRepositoryAgents`: plug-ins that prepare the model's directory. */
export interface ModelRepositoryAgents {
  /** The plug-ins, in the order in which they are called. */
  readonly agents: readonly ModelRepositoryAgentsAgent[];
}

/** Triton's `ModelRepositoryAgents.Agent`: one plug-in. */
export interface ModelRepositoryAgentsAgent {
  /** Name of the plug-in. */
  readonly name: string;
  /** The plug-in's options. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Triton's `ModelResponseCache`: whether responses are cached. */
export interface ModelResponseCache {
  /** Whether equal requests are answered from the cache. */
  readonly enable: boolean;
}

/** Triton's `ModelMetrics`: settings of the model's metrics. */
export interface ModelMetrics {
  /** One entry for each metric family. */
  readonly metric_control: readonly ModelMetricsMetricControl[];
}

/** Triton's `ModelMetrics.MetricControl`: settings of a metric family. */
export interface ModelMetricsMetricControl {
  /** Identifies the metric family. */
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

/** A part of a configuration in which all fields are optional. */
type Partly<T> = T extends readonly (infer E)[]
  ? readonly Partly<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Partly<T[K]> | undefined }
    : T;

/**
 * A configuration as a caller or a file writes it: {@link ModelConfig} with all fields optional.
 *
 * @example
 * const config: ModelConfigInput = { max_batch_size: 16, dynamic_batching: {} };
 */
export type ModelConfigInput = Partly<ModelConfig>;
