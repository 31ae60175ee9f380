/** Types of the `optimization` section of a configuration. */

/** Triton's `ModelOptimizationPolicy.ModelPriority`. */
export type ModelOptimizationPolicyModelPriority = 'PRIORITY_DEFAULT' | 'PRIORITY_MAX' | 'PRIORITY_MIN';

/** Triton's `ModelOptimizationPolicy`: settings of the framework and of memory. */
export interface ModelOptimizationPolicy {
  /** Graph optimisation of the framework. */
  readonly graph?: ModelOptimizationPolicyGraph | undefined;
  /** Priority of execution; only TensorRT uses it. */
  readonly priority: ModelOptimizationPolicyModelPriority;
  /** CUDA settings; only TensorRT uses them. */
  readonly cuda?: ModelOptimizationPolicyCuda | undefined;
  /** Accelerators inside a framework. */
  readonly execution_accelerators?: ModelOptimizationPolicyExecutionAccelerators | undefined;
  /** Pinned staging memory for inputs. */
  readonly input_pinned_memory?: ModelOptimizationPolicyPinnedMemoryBuffer | undefined;
  /** Pinned staging memory for outputs. */
  readonly output_pinned_memory?: ModelOptimizationPolicyPinnedMemoryBuffer | undefined;
  /** Number of source buffers from which on a GPU kernel gathers them; 0: never. */
  readonly gather_kernel_buffer_threshold: number;
  /** Whether the next batch is prepared while the instance is busy (TensorRT). */
  readonly eager_batching: boolean;
}

/** Triton's `ModelOptimizationPolicy.Graph`. */
export interface ModelOptimizationPolicyGraph {
  /** For ONNX Runtime, 0 means all optimisations, 1 extended, -1 basic, 2 none. */
  readonly level: number;
}

/** Triton's `ModelOptimizationPolicy.Cuda`. */
export interface ModelOptimizationPolicyCuda {
  /** Whether CUDA graphs are captured and replayed. */
  readonly graphs: boolean;
  /** Whether waits for CUDA events spin instead of sleeping. */
  readonly busy_wait_events: boolean;
  /** The graphs to capture; if empty, the backend chooses. */
  readonly graph_spec: readonly ModelOptimizationPolicyCudaGraphSpec[];
  /** Whether copies from device to host use a separate stream. */
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
  /** Accelerators for GPU instances, in order of preference. */
  readonly gpu_execution_accelerator: readonly ModelOptimizationPolicyExecutionAcceleratorsAccelerator[];
  /** Accelerators for CPU instances, in order of preference. */
  readonly cpu_execution_accelerator: readonly ModelOptimizationPolicyExecutionAcceleratorsAccelerator[];
}

/** Triton's `ModelOptimizationPolicy.ExecutionAccelerators.Accelerator`. */
export interface ModelOptimizationPolicyExecutionAcceleratorsAccelerator {
  /** The accelerator's name, such as `tensorrt`, `cuda` or `openvino`. */
  readonly name: string;
  /** Options of the accelerator. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Triton's `ModelOptimizationPolicy.PinnedMemoryBuffer`. */
export interface ModelOptimizationPolicyPinnedMemoryBuffer {
  /** Whether pinned memory is used if there is a GPU. */
  readonly enable: boolean;
}
