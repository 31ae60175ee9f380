/**
 * Triton's `ModelConfig` as a table: every message, field and enum, with Triton's names and numbers.
 *
 * Everything else about fields derives from it: reading and printing, suggestions for misspelt names, the
 * classes in `../support/` (whose test walks this table), and `docs/compatibility.md`.
 */

/** The scalar types of protobuf that the schema uses. */
export type ScalarType = 'string' | 'bool' | 'int32' | 'int64' | 'uint32' | 'uint64' | 'float' | 'double';

/**
 * A row: field number, type (a {@link ScalarType}, an enum or a message), and a label unless the field is
 * singular.
 */
export type FieldRow = readonly [
  id: number,
  type: string,
  label?: 'repeated' | 'map string' | 'map uint64' | `oneof ${string}`,
];

/** Messages by their name, and the fields of each. */
export type MessageTable = Readonly<Record<string, Readonly<Record<string, FieldRow>>>>;

/** The enums, by full name within package `inference`. A value's number is its index. */
export const enumTable: Readonly<Record<string, readonly string[]>> = {
  // prettier-ignore
  DataType: [
    'TYPE_INVALID', 'TYPE_BOOL', 'TYPE_UINT8', 'TYPE_UINT16', 'TYPE_UINT32', 'TYPE_UINT64', 'TYPE_INT8', 'TYPE_INT16',
    'TYPE_INT32', 'TYPE_INT64', 'TYPE_FP16', 'TYPE_FP32', 'TYPE_FP64', 'TYPE_STRING', 'TYPE_BF16',
  ],
  'ModelInstanceGroup.Kind': ['KIND_AUTO', 'KIND_GPU', 'KIND_CPU', 'KIND_MODEL'],
  'ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind': ['KIND_NVDLA'],
  'ModelInput.Format': ['FORMAT_NONE', 'FORMAT_NHWC', 'FORMAT_NCHW'],
  'BatchInput.Kind': [
    'BATCH_ELEMENT_COUNT',
    'BATCH_ACCUMULATED_ELEMENT_COUNT',
    'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO',
    'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE',
    'BATCH_ITEM_SHAPE',
    'BATCH_ITEM_SHAPE_FLATTEN',
  ],
  'BatchOutput.Kind': ['BATCH_SCATTER_WITH_INPUT_SHAPE'],
  'ModelOptimizationPolicy.ModelPriority': ['PRIORITY_DEFAULT', 'PRIORITY_MAX', 'PRIORITY_MIN'],
  'ModelQueuePolicy.TimeoutAction': ['REJECT', 'DELAY'],
  'ModelSequenceBatching.Control.Kind': [
    'CONTROL_SEQUENCE_START',
    'CONTROL_SEQUENCE_READY',
    'CONTROL_SEQUENCE_END',
    'CONTROL_SEQUENCE_CORRID',
  ],
};

/** The messages, by full name within package `inference`. Fields are in Triton's order of declaration. */
export const messageTable: MessageTable = {
  ModelRateLimiter: {
    resources: [1, 'ModelRateLimiter.Resource', 'repeated'],
    priority: [2, 'uint32'],
  },
  'ModelRateLimiter.Resource': {
    name: [1, 'string'],
    global: [2, 'bool'],
    count: [3, 'uint32'],
  },
  ModelInstanceGroup: {
    name: [1, 'string'],
    kind: [4, 'ModelInstanceGroup.Kind'],
    count: [2, 'int32'],
    rate_limiter: [6, 'ModelRateLimiter'],
    gpus: [3, 'int32', 'repeated'],
    secondary_devices: [8, 'ModelInstanceGroup.SecondaryDevice', 'repeated'],
    profile: [5, 'string', 'repeated'],
    passive: [7, 'bool'],
    host_policy: [9, 'string'],
  },
  'ModelInstanceGroup.SecondaryDevice': {
    kind: [1, 'ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind'],
    device_id: [2, 'int64'],
  },
  ModelTensorReshape: {
    shape: [1, 'int64', 'repeated'],
  },
  ModelInput: {
    name: [1, 'string'],
    data_type: [2, 'DataType'],
    format: [3, 'ModelInput.Format'],
    dims: [4, 'int64', 'repeated'],
    reshape: [5, 'ModelTensorReshape'],
    is_shape_tensor: [6, 'bool'],
    allow_ragged_batch: [7, 'bool'],
    optional: [8, 'bool'],
    is_non_linear_format_io: [9, 'bool'],
  },
  ModelOutput: {
    name: [1, 'string'],
    data_type: [2, 'DataType'],
    dims: [3, 'int64', 'repeated'],
    reshape: [5, 'ModelTensorReshape'],
    label_filename: [4, 'string'],
    is_shape_tensor: [6, 'bool'],
    is_non_linear_format_io: [7, 'bool'],
  },
  BatchInput: {
    kind: [1, 'BatchInput.Kind'],
    target_name: [2, 'string', 'repeated'],
    data_type: [3, 'DataType'],
    source_input: [4, 'string', 'repeated'],
  },
  BatchOutput: {
    target_name: [1, 'string', 'repeated'],
    kind: [2, 'BatchOutput.Kind'],
    source_input: [3, 'string', 'repeated'],
  },
  ModelVersionPolicy: {
    latest: [1, 'ModelVersionPolicy.Latest', 'oneof policy_choice'],
    all: [2, 'ModelVersionPolicy.All', 'oneof policy_choice'],
    specific: [3, 'ModelVersionPolicy.Specific', 'oneof policy_choice'],
  },
  'ModelVersionPolicy.Latest': {
    num_versions: [1, 'uint32'],
  },
  'ModelVersionPolicy.All': {},
  'ModelVersionPolicy.Specific': {
    versions: [1, 'int64', 'repeated'],
  },
  ModelOptimizationPolicy: {
    graph: [1, 'ModelOptimizationPolicy.Graph'],
    priority: [2, 'ModelOptimizationPolicy.ModelPriority'],
    cuda: [3, 'ModelOptimizationPolicy.Cuda'],
    execution_accelerators: [4, 'ModelOptimizationPolicy.ExecutionAccelerators'],
    input_pinned_memory: [5, 'ModelOptimizationPolicy.PinnedMemoryBuffer'],
    output_pinned_memory: [6, 'ModelOptimizationPolicy.PinnedMemoryBuffer'],
    gather_kernel_buffer_threshold: [7, 'uint32'],
    eager_batching: [8, 'bool'],
  },
  'ModelOptimizationPolicy.Graph': {
    level: [1, 'int32'],
  },
  'ModelOptimizationPolicy.Cuda': {
    graphs: [1, 'bool'],
    busy_wait_events: [2, 'bool'],
    graph_spec: [3, 'ModelOptimizationPolicy.Cuda.GraphSpec', 'repeated'],
    output_copy_stream: [4, 'bool'],
  },
  'ModelOptimizationPolicy.Cuda.GraphSpec': {
    batch_size: [1, 'int32'],
    input: [2, 'ModelOptimizationPolicy.Cuda.GraphSpec.Shape', 'map string'],
    graph_lower_bound: [3, 'ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound'],
  },
  'ModelOptimizationPolicy.Cuda.GraphSpec.Shape': {
    dim: [1, 'int64', 'repeated'],
  },
  'ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound': {
    batch_size: [1, 'int32'],
    input: [2, 'ModelOptimizationPolicy.Cuda.GraphSpec.Shape', 'map string'],
  },
  'ModelOptimizationPolicy.ExecutionAccelerators': {
    gpu_execution_accelerator: [1, 'ModelOptimizationPolicy.ExecutionAccelerators.Accelerator', 'repeated'],
    cpu_execution_accelerator: [2, 'ModelOptimizationPolicy.ExecutionAccelerators.Accelerator', 'repeated'],
  },
  'ModelOptimizationPolicy.ExecutionAccelerators.Accelerator': {
    name: [1, 'string'],
    parameters: [2, 'string', 'map string'],
  },
  'ModelOptimizationPolicy.PinnedMemoryBuffer': {
    enable: [1, 'bool'],
  },
  ModelQueuePolicy: {
    timeout_action: [1, 'ModelQueuePolicy.TimeoutAction'],
    default_timeout_microseconds: [2, 'uint64'],
    allow_timeout_override: [3, 'bool'],
    max_queue_size: [4, 'uint32'],
  },
  ModelDynamicBatching: {
    preferred_batch_size: [1, 'int32', 'repeated'],
    max_queue_delay_microseconds: [2, 'uint64'],
    preserve_ordering: [3, 'bool'],
    priority_levels: [4, 'uint64'],
    default_priority_level: [5, 'uint64'],
    default_queue_policy: [6, 'ModelQueuePolicy'],
    priority_queue_policy: [7, 'ModelQueuePolicy', 'map uint64'],
  },
  ModelSequenceBatching: {
    direct: [3, 'ModelSequenceBatching.StrategyDirect', 'oneof strategy_choice'],
    oldest: [4, 'ModelSequenceBatching.StrategyOldest', 'oneof strategy_choice'],
    max_sequence_idle_microseconds: [1, 'uint64'],
    control_input: [2, 'ModelSequenceBatching.ControlInput', 'repeated'],
    state: [5, 'ModelSequenceBatching.State', 'repeated'],
    iterative_sequence: [6, 'bool'],
  },
  'ModelSequenceBatching.Control': {
    kind: [1, 'ModelSequenceBatching.Control.Kind'],
    int32_false_true: [2, 'int32', 'repeated'],
    fp32_false_true: [3, 'float', 'repeated'],
    bool_false_true: [5, 'bool', 'repeated'],
    data_type: [4, 'DataType'],
  },
  'ModelSequenceBatching.ControlInput': {
    name: [1, 'string'],
    control: [2, 'ModelSequenceBatching.Control', 'repeated'],
  },
  'ModelSequenceBatching.InitialState': {
    data_type: [1, 'DataType'],
    dims: [2, 'int64', 'repeated'],
    zero_data: [3, 'bool', 'oneof state_data'],
    data_file: [4, 'string', 'oneof state_data'],
    name: [5, 'string'],
  },
  'ModelSequenceBatching.State': {
    input_name: [1, 'string'],
    output_name: [2, 'string'],
    data_type: [3, 'DataType'],
    dims: [4, 'int64', 'repeated'],
    initial_state: [5, 'ModelSequenceBatching.InitialState', 'repeated'],
    use_same_buffer_for_input_output: [6, 'bool'],
    use_growable_memory: [7, 'bool'],
  },
  'ModelSequenceBatching.StrategyDirect': {
    max_queue_delay_microseconds: [1, 'uint64'],
    minimum_slot_utilization: [2, 'float'],
  },
  'ModelSequenceBatching.StrategyOldest': {
    max_candidate_sequences: [1, 'int32'],
    preferred_batch_size: [2, 'int32', 'repeated'],
    max_queue_delay_microseconds: [3, 'uint64'],
    preserve_ordering: [4, 'bool'],
  },
  ModelEnsembling: {
    step: [1, 'ModelEnsembling.Step', 'repeated'],
    max_inflight_requests: [2, 'uint32'],
  },
  'ModelEnsembling.Step': {
    model_name: [1, 'string'],
    model_version: [2, 'int64'],
    input_map: [3, 'string', 'map string'],
    output_map: [4, 'string', 'map string'],
    model_namespace: [5, 'string'],
  },
  ModelParameter: {
    string_value: [1, 'string'],
  },
  ModelWarmup: {
    name: [1, 'string'],
    batch_size: [2, 'uint32'],
    inputs: [3, 'ModelWarmup.Input', 'map string'],
    count: [4, 'uint32'],
  },
  'ModelWarmup.Input': {
    data_type: [1, 'DataType'],
    dims: [2, 'int64', 'repeated'],
    zero_data: [3, 'bool', 'oneof input_data_type'],
    random_data: [4, 'bool', 'oneof input_data_type'],
    input_data_file: [5, 'string', 'oneof input_data_type'],
  },
  ModelOperations: {
    op_library_filename: [1, 'string', 'repeated'],
  },
  ModelTransactionPolicy: {
    decoupled: [1, 'bool'],
  },
  ModelRepositoryAgents: {
    agents: [1, 'ModelRepositoryAgents.Agent', 'repeated'],
  },
  'ModelRepositoryAgents.Agent': {
    name: [1, 'string'],
    parameters: [2, 'string', 'map string'],
  },
  ModelResponseCache: {
    enable: [1, 'bool'],
  },
  ModelMetrics: {
    metric_control: [1, 'ModelMetrics.MetricControl', 'repeated'],
  },
  'ModelMetrics.MetricControl': {
    metric_identifier: [1, 'ModelMetrics.MetricControl.MetricIdentifier'],
    histogram_options: [2, 'ModelMetrics.MetricControl.HistogramOptions', 'oneof metric_options'],
  },
  'ModelMetrics.MetricControl.MetricIdentifier': {
    family: [1, 'string'],
  },
  'ModelMetrics.MetricControl.HistogramOptions': {
    buckets: [1, 'double', 'repeated'],
  },
  ModelConfig: {
    name: [1, 'string'],
    platform: [2, 'string'],
    backend: [17, 'string'],
    runtime: [25, 'string'],
    version_policy: [3, 'ModelVersionPolicy'],
    max_batch_size: [4, 'int32'],
    input: [5, 'ModelInput', 'repeated'],
    output: [6, 'ModelOutput', 'repeated'],
    batch_input: [20, 'BatchInput', 'repeated'],
    batch_output: [21, 'BatchOutput', 'repeated'],
    optimization: [12, 'ModelOptimizationPolicy'],
    dynamic_batching: [11, 'ModelDynamicBatching', 'oneof scheduling_choice'],
    sequence_batching: [13, 'ModelSequenceBatching', 'oneof scheduling_choice'],
    ensemble_scheduling: [15, 'ModelEnsembling', 'oneof scheduling_choice'],
    instance_group: [7, 'ModelInstanceGroup', 'repeated'],
    default_model_filename: [8, 'string'],
    cc_model_filenames: [9, 'string', 'map string'],
    metric_tags: [10, 'string', 'map string'],
    parameters: [14, 'ModelParameter', 'map string'],
    model_warmup: [16, 'ModelWarmup', 'repeated'],
    model_operations: [18, 'ModelOperations'],
    model_transaction_policy: [19, 'ModelTransactionPolicy'],
    model_repository_agents: [23, 'ModelRepositoryAgents'],
    response_cache: [24, 'ModelResponseCache'],
    model_metrics: [26, 'ModelMetrics'],
  },
};
