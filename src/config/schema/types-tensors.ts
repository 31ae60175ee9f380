/** Types of the tensor sections of a configuration. */

/** Triton's `DataType`: the element type of a tensor as a configuration spells it. */
export type DataType =
  | 'TYPE_INVALID'
  | 'TYPE_BOOL'
  | 'TYPE_UINT8'
  | 'TYPE_UINT16'
  | 'TYPE_UINT32'
  | 'TYPE_UINT64'
  | 'TYPE_INT8'
  | 'TYPE_INT16'
  | 'TYPE_INT32'
  | 'TYPE_INT64'
  | 'TYPE_FP16'
  | 'TYPE_FP32'
  | 'TYPE_FP64'
  | 'TYPE_STRING'
  | 'TYPE_BF16';

/** Triton's `ModelInput.Format`: the layout of an image. */
export type ModelInputFormat = 'FORMAT_NONE' | 'FORMAT_NHWC' | 'FORMAT_NCHW';

/** Triton's `BatchInput.Kind`: how a tensor is made from a batch. */
export type BatchInputKind =
  | 'BATCH_ELEMENT_COUNT'
  | 'BATCH_ACCUMULATED_ELEMENT_COUNT'
  | 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO'
  | 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE'
  | 'BATCH_ITEM_SHAPE'
  | 'BATCH_ITEM_SHAPE_FLATTEN';

/** Triton's `BatchOutput.Kind`: how an output is split. */
export type BatchOutputKind = 'BATCH_SCATTER_WITH_INPUT_SHAPE';

/** Triton's `ModelInput`: an input of a model. */
export interface ModelInput {
  /** The tensor's name. */
  readonly name: string;
  /** Element type. */
  readonly data_type: DataType;
  /** Layout of an image. It has no effect on the data. */
  readonly format: ModelInputFormat;
  /** Shape without the batch dimension; -1 is variable. */
  readonly dims: readonly number[];
  /** The model's own shape, with as many elements as `dims`. */
  readonly reshape?: ModelTensorReshape | undefined;
  /** Whether the tensor is a TensorRT shape tensor. */
  readonly is_shape_tensor: boolean;
  /** Whether requests with different shapes of this input may share a batch. */
  readonly allow_ragged_batch: boolean;
  /** Whether a request may leave the input out. */
  readonly optional: boolean;
  /** Whether the tensor has a vectorised memory layout of TensorRT. */
  readonly is_non_linear_format_io: boolean;
}

/** Triton's `ModelOutput`: an output of a model. */
export interface ModelOutput {
  /** The tensor's name. */
  readonly name: string;
  /** Element type. */
  readonly data_type: DataType;
  /** Shape without the batch dimension; -1 is variable. */
  readonly dims: readonly number[];
  /** The model's own shape, with as many elements as `dims`. */
  readonly reshape?: ModelTensorReshape | undefined;
  /** Name of a file with one label per line, in the model's directory. */
  readonly label_filename: string;
  /** Whether the tensor is a TensorRT shape tensor. */
  readonly is_shape_tensor: boolean;
  /** Whether the tensor has a vectorised memory layout of TensorRT. */
  readonly is_non_linear_format_io: boolean;
}

/** Triton's `ModelTensorReshape`: the model's own shape of a tensor. */
export interface ModelTensorReshape {
  /** Shape without the batch dimension; -1 is variable, and an empty shape has one element. */
  readonly shape: readonly number[];
}

/** Triton's `BatchInput`: a tensor made from the whole batch. */
export interface BatchInput {
  /** How the tensor is made. */
  readonly kind: BatchInputKind;
  /** The model's inputs that receive it. */
  readonly target_name: readonly string[];
  /** TYPE_INT32 or TYPE_FP32. */
  readonly data_type: DataType;
  /** The one input that it is made from. */
  readonly source_input: readonly string[];
}

/** Triton's `BatchOutput`: outputs that are split in a special way. */
export interface BatchOutput {
  /** The outputs that are split. */
  readonly target_name: readonly string[];
  /** How they are split. */
  readonly kind: BatchOutputKind;
  /** The one input whose shapes determine how they are split. */
  readonly source_input: readonly string[];
}
