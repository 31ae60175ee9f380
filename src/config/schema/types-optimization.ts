/** Types of the `optimization` section of a configuration. */

/** Triton's `ModelOptimizationPolicy.ModelPriority`. */
export type ModelOptimizationPolicyModelPriority = 'PRIORITY_DEFAULT' | 'PRIORITY_MAX' | 'PRIORITY_MIN';

/** Triton's `ModelOptimizationPolicy`: settings of the framework and of memory. */
export interface ModelOptimizationPolicy {
  /** Graph optimisation of the framework. */
  readonly graph?: ModelOptimizationPolicyGraph | undefined;
  /** Execution priority, used by TensorRT only. */
  readonly priority: ModelOptimizationPolicyModelPriority;
  /** CUDA settings, used by TensorRT. */
  readonly cuda?: ModelOptimizationPolicyCuda | undefined;
  /** Accelerators inside of a framework. */
  readonly execution_accelerators?: ModelOptimizationPolicyExecutionAccelerators | undefined;
  /** Pinned staging memory for inputs. */
  readonly input_pinned_memory?: ModelOptimizationPolicyPinnedMemoryBuffer | undefined;
  /** Pinned staging memory for outputs. */
  readonly output_pinned_memory?: ModelOptimizationPolicyPinnedMemoryBuffer | undefined;
  /** Number of source buffers from which a GPU kernel gathers them; 0: never. */
  readonly gather_kernel_buffer_threshold: number;
  /** Prepare the next batch while the instance is busy (TensorRT). */
  readonly eager_batching: boolean;
}

/** Triton's `ModelOptimizationPolicy.Graph`. */
export interface ModelOptimizationPolicyGraph {
  /** For ONNX Runtime: 0 all optimisations, 1 extended, -1 basic, 2 none. */
  readonly level: number;
}

/** Triton's `ModelOptimizationPolicy.Cuda`. */
export interface ModelOptimizationPolicyCuda {
  /** Capture and replay CUDA graphs. */
  readonly graphs: boolean;
  /** Spin instead of sleeping on CUDA events. */
  readonly busy_wait_events: boolean;
  /** The graphs to capture; empty: the backend's choice. */
  readonly graph_spec: readonly ModelOptimizationPolicyCudaGraphSpec[];
  /** A separate stream for copies from device to host. */
  readonly output_copy_stream: boolean;
}

/** Triton's `ModelOptimizationPolicy.Cuda.GraphSpec`. */
export interface ModelOptimizationPolicyCudaGraphSpec {
  /** Batch size to capture; 0 for models without batching. */
  readonly batch_size: number;
  /** Shapes by input name. */
  readonly input: Readonly<Record<string, ModelOptimizationPolicyCudaGraphSpecShape>>;
  /** The smallest shapes that may use the graph. */
  readonly graph_lower_bound?: ModelOptimizationPolicyCudaGraphSpecLowerBound | undefined;
}

/** Triton's `ModelOptimizationPolicy.Cuda.GraphSpec.Shape`. */
export interface ModelOptimizationPolicyCudaGraphSpecShape {
  /** Dims of one input, without the batch dimension. */
  readonly dim: readonly number[];
}

/** Triton's `ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound`. */
export interface ModelOptimizationPolicyCudaGraphSpecLowerBound {
  /** Smallest batch size that may use the graph. */
  readonly batch_size: number;
  /** Smallest shapes by input name. */
  readonly input: Readonly<Record<string, ModelOptimizationPolicyCudaGraphSpecShape>>;
}

/** Triton's `ModelOptimizationPolicy.ExecutionAccelerators`. */
export interface ModelOptimizationPolicyExecutionAccelerators {
  /** In order of preference, for GPU instances. */
  readonly gpu_execution_accelerator: readonly ModelOptimizationPolicyExecutionAcceleratorsAccelerator[];
  /** In order of preference, for CPU instances. */
  readonly cpu_execution_accelerator: readonly ModelOptimizationPolicyExecutionAcceleratorsAccelerator[];
}

/** Triton's `ModelOptimizationPolicy.ExecutionAccelerators.Accelerator`. */
export interface ModelOptimizationPolicyExecutionAcceleratorsAccelerator {
  /** Such as `tensorrt`, `cuda` or `openvino`. */
  readonly name: string;
  /** Options of the accelerator. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Triton's `ModelOptimizationPolicy.PinnedMemoryBuffer`. */
export interface ModelOptimizationPolicyPinnedMemoryBuffer {
  /** Use pinned memory where there is a GPU. */
  readonly enable: boolean;
}
