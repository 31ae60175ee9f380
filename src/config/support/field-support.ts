/**
 * The class table: the support of each field of a configuration. Loads use it, and `docs/compatibility.md` is
 * printed from it. Implementing a feature means changing its row.
 *
 * A row covers its field and, for `hint` and `refused`, everything inside. Under an `acted` message every field
 * has its own row. A field that is absent or has its default value is never refused and never noted.
 */

import { sequenceSupport } from './sequence-support.js';
import { acted, hint, refused, type Support } from './support.js';

const container = acted('see its fields');
const accelerator = acted("a provider of the runtime's; see below");

const noLevels = hint('takes effect only with priority_levels, as in Triton');

const tensorRt = 'for TensorRT, and not built yet';
/** A row for fields that affect instances on GPUs. */
const onGpus = (text: string): Support => ({
  ...acted(`instances on GPUs: ${text}`),
  onCpu: hint('serves instances on GPUs; there are none'),
  only: { backends: ['tensorrt', 'onnxruntime'], others: hint('for instances on GPUs') },
});

/** A row for fields that affect TensorRT plans, and are hints for other backends. */
const onPlans = (text: string): Support => ({
  ...acted(`TensorRT: ${text}`),
  only: { backends: ['tensorrt'], others: hint('for plans of TensorRT') },
});

/** Models of these backends get each request by itself, so they know its shapes. */
const apart = hint('models in JavaScript and Python get each request with its own tensors');
const notJoined = 'the backend does not run batches of unequal shapes';

/** A row for tensors about a batch of unequal shapes. */
const onRagged = (text: string): Support => ({
  ...acted(text),
  ragged: { apart, none: refused(notJoined) },
});

const vectorised = 'tensors in formats that are not linear cannot be passed';

/** The class of every field, by path without indices. */
export const supportTable: Readonly<Record<string, Support>> = {
  name: acted("the model's name; equals its directory's"),
  platform: acted('must fit the backend, which it implies where that is left out'),
  backend: acted('chooses the backend; left out, it follows from platform, file name and files'),
  runtime: refused(
    'another library for a backend of this package needs the parameter plugin: true; a backend of another name is a plug-in of Triton, whose file it names',
    (value, config, rules) =>
      value === `libtriton_${config.backend}.so` ||
      config.parameters['plugin']?.string_value === 'true' ||
      (rules === undefined && config.backend !== ''),
  ),

  version_policy: acted('chooses the versions that are served; default: the latest'),
  'version_policy.latest': acted('serves the largest version numbers'),
  'version_policy.latest.num_versions': acted('how many'),
  'version_policy.all': acted('serves every version'),
  'version_policy.specific': acted('serves the listed versions, as far as they exist'),
  'version_policy.specific.versions': acted('the version numbers'),

  max_batch_size: acted('largest batch; 0: tensors have no batch dimension'),

  input: acted("the inputs; checked against the model's own"),
  'input.name': acted("the tensor's name"),
  'input.data_type': acted('element type; must be that of the model'),
  'input.format': hint(
    'the layout of an image is between caller and model; it changes no bytes in Triton either',
  ),
  'input.dims': acted('shape without the batch dimension; -1 is variable'),
  'input.reshape': acted('the shape that the model is given'),
  'input.reshape.shape': acted('without the batch dimension; the same elements as dims'),
  'input.is_shape_tensor': acted(
    'tensorrt: the values are shapes; must be so in the plan. In a batch the first value is the rows',
  ),
  'input.allow_ragged_batch': {
    ...acted(
      'requests whose shapes of this input differ run together; the model gets their elements one after the other, in one dimension. Models in JavaScript and Python get each request with its own tensor',
    ),
    ragged: {
      apart: acted('requests whose shapes of this input differ run together'),
      none: refused(notJoined),
    },
  },
  'input.optional': acted('a request may leave it out; the model carries a value for it'),
  'input.is_non_linear_format_io': refused(vectorised),

  output: acted("the outputs; may be fewer than the model's own"),
  'output.name': acted("the tensor's name"),
  'output.data_type': acted('element type; must be that of the model'),
  'output.dims': acted('shape without the batch dimension; -1 is variable'),
  'output.reshape': acted('the shape that the model gives'),
  'output.reshape.shape': acted('without the batch dimension; the same elements as dims'),
  'output.label_filename': acted('names of classes, one a line, for the option classification of a request'),
  'output.is_shape_tensor': acted(
    'tensorrt: the values are shapes; must be so in the plan. In a batch the first value is the rows',
  ),
  'output.is_non_linear_format_io': refused(vectorised),

  batch_input: onRagged('tensors that the server makes from the shapes of an input in a batch'),
  'batch_input.kind': acted('all kinds, with the values that Triton gives them'),
  'batch_input.target_name': acted("inputs of the model's; callers neither see nor send them"),
  'batch_input.data_type': acted('TYPE_INT32 or TYPE_FP32'),
  'batch_input.source_input': acted('the input whose shapes count'),
  batch_output: onRagged('outputs that are cut by the shapes of an input'),
  'batch_output.target_name': acted('the outputs'),
  'batch_output.kind': acted(
    'BATCH_SCATTER_WITH_INPUT_SHAPE: the parts of the requests follow each other, each of its own shape',
  ),
  'batch_output.source_input': acted(
    'the input whose dims take the places of the variable dims of an output',
  ),

  optimization: container,
  'optimization.graph': container,
  'optimization.graph.level': acted('onnxruntime: -1 basic, 0 all, 1 extended, 2 off'),
  'optimization.priority': onGpus("priority of the streams of the model's instances"),
  'optimization.cuda': container,
  'optimization.cuda.graphs': onPlans(
    'batches of some shapes are recorded when the model is loaded, and enqueued by one call',
  ),
  'optimization.cuda.busy_wait_events': onGpus(
    'the instance spins until a batch ends, which is a little faster but occupies a core meanwhile',
  ),
  'optimization.cuda.graph_spec': onPlans(
    'the shapes; by default one row, the preferred batch sizes or else 2 to 16, and max_batch_size',
  ),
  'optimization.cuda.graph_spec.batch_size': onPlans('rows of the batch that is recorded; 0 without batches'),
  'optimization.cuda.graph_spec.input': onPlans(
    "shapes by input; an input that is not named has the best shape of the plan's profile",
  ),
  'optimization.cuda.graph_spec.input.dim': onPlans('dims without the batch dimension'),
  'optimization.cuda.graph_spec.graph_lower_bound': onPlans(
    'smaller batches are padded to the graph, down to these shapes',
  ),
  'optimization.cuda.graph_spec.graph_lower_bound.batch_size': onPlans('rows'),
  'optimization.cuda.graph_spec.graph_lower_bound.input': onPlans('shapes by input'),
  'optimization.cuda.graph_spec.graph_lower_bound.input.dim': onPlans('dims without the batch dimension'),
  'optimization.cuda.output_copy_stream': onPlans(
    'copies from the GPU have a stream of their own; where max_concurrency is 2 or more, they have one anyway',
  ),
  'optimization.execution_accelerators': container,
  'optimization.execution_accelerators.gpu_execution_accelerator': accelerator,
  'optimization.execution_accelerators.gpu_execution_accelerator.name': acted('which one'),
  'optimization.execution_accelerators.gpu_execution_accelerator.parameters': acted('its options'),
  'optimization.execution_accelerators.cpu_execution_accelerator': accelerator,
  'optimization.execution_accelerators.cpu_execution_accelerator.name': acted('which one'),
  'optimization.execution_accelerators.cpu_execution_accelerator.parameters': acted('its options'),
  'optimization.input_pinned_memory': hint('inputs for a GPU are always gathered in pinned memory'),
  'optimization.output_pinned_memory': hint('outputs of a GPU always come through pinned memory'),
  'optimization.gather_kernel_buffer_threshold': onGpus(
    'from so many pieces on, an input that is on the GPU already is gathered by one kernel; 0, the default: by copies',
  ),
  'optimization.eager_batching': hint(tensorRt),

  dynamic_batching: acted('requests that wait together run together'),
  'dynamic_batching.preferred_batch_size': acted('sizes to which a batch is cut; default: max_batch_size'),
  'dynamic_batching.max_queue_delay_microseconds': acted('longest wait of the oldest request for company'),
  'dynamic_batching.preserve_ordering': acted('responses leave in the order of their requests'),
  'dynamic_batching.priority_levels': acted('number of levels; 1 is served first'),
  'dynamic_batching.default_priority_level': acted('level of requests that name none', undefined, noLevels),
  'dynamic_batching.default_queue_policy': acted('how requests of the levels without their own policy wait'),
  'dynamic_batching.default_queue_policy.timeout_action': acted(
    'what becomes of a request that waited too long: REJECT or DELAY',
  ),
  'dynamic_batching.default_queue_policy.default_timeout_microseconds': acted(
    'how long a request may wait; 0: for ever',
  ),
  'dynamic_batching.default_queue_policy.allow_timeout_override': acted(
    "a request's own time-out counts where it is shorter, or the only one",
  ),
  'dynamic_batching.default_queue_policy.max_queue_size': acted('how many requests may wait; 0: any number'),
  'dynamic_batching.priority_queue_policy': acted('how requests wait, by level', undefined, noLevels),
  'dynamic_batching.priority_queue_policy.timeout_action': acted(
    'what becomes of a request that waited too long: REJECT or DELAY',
  ),
  'dynamic_batching.priority_queue_policy.default_timeout_microseconds': acted(
    'how long a request may wait; 0: for ever',
  ),
  'dynamic_batching.priority_queue_policy.allow_timeout_override': acted(
    "a request's own time-out counts where it is shorter, or the only one",
  ),
  'dynamic_batching.priority_queue_policy.max_queue_size': acted('how many requests may wait; 0: any number'),

  ...sequenceSupport,
  ensemble_scheduling: acted('a graph of models: docs/ensembles.md'),
  'ensemble_scheduling.step': acted('the models of the graph, and their tensors'),
  'ensemble_scheduling.step.model_name': acted('the model of the step, of any backend, or another ensemble'),
  'ensemble_scheduling.step.model_version': acted(
    'its version; -1: the newest one that is served when a request begins',
  ),
  'ensemble_scheduling.step.input_map': acted("the ensemble's tensor for each input of the model"),
  'ensemble_scheduling.step.output_map': acted("the ensemble's tensor for each output of the model"),
  'ensemble_scheduling.step.model_namespace': hint(
    "a step means the model of the ensemble's repository, else the only one of its name; Triton reserves the field, too",
  ),
  'ensemble_scheduling.max_inflight_requests': acted(
    'how many requests may be in each step at a time, over all requests; more of them wait, and no thread does; 0: any number',
  ),

  instance_group: acted('the instances that execute the model; default: one on the CPU'),
  'instance_group.name': acted('instances are named after it; default: <model>_<index>'),
  'instance_group.kind': acted(
    'where the instances live; KIND_AUTO means GPUs where the backend can use some, else the CPU',
    {
      KIND_GPU: acted(
        "GPUs; where the backend can use none the load fails with UNAVAILABLE, or instanceKind: 'cpu' takes it to the CPU",
      ),
      KIND_MODEL: refused(
        'only plug-ins of Triton place instances themselves',
        (_, config, rules) =>
          rules?.placesItself === true ||
          config.parameters['plugin']?.string_value === 'true' ||
          (rules === undefined && config.backend !== ''),
      ),
    },
  ),
  'instance_group.count': acted(
    'number of instances, on each GPU or on the CPU, which share one copy of the weights there; default: 1',
  ),
  'instance_group.rate_limiter': acted(
    'what a batch of an instance needs of the resources that instances share; with the option rateLimit, as in Triton with --rate-limit=execution_count',
  ),
  'instance_group.rate_limiter.resources': acted(
    'the resources; one that is written twice is needed as often as the larger count says',
  ),
  'instance_group.rate_limiter.resources.name': acted('any text'),
  'instance_group.rate_limiter.resources.global': acted(
    'whether all devices share the units; default: each device has its own',
  ),
  'instance_group.rate_limiter.resources.count': acted('how many units a batch needs'),
  'instance_group.rate_limiter.priority': acted(
    'N: a turn for 1/N of the turns of an instance with 1; default and 0: 1',
  ),
  'instance_group.gpus': acted(
    'ids of GPUs, default: all; INVALID_ARG with another kind than KIND_GPU, as in Triton',
  ),
  'instance_group.secondary_devices': refused('parts of models cannot be put on other devices (KIND_NVDLA)'),
  'instance_group.profile': acted(
    'tensorrt: profiles of the plan that the instances use; the one with the nearest best shapes runs a batch; default: 0',
  ),
  'instance_group.passive': refused('instances that receive no requests are not built'),
  'instance_group.host_policy': acted(
    'the cores and the NUMA node of its threads, by the option hostPolicies; a note says if the server has no settings for it',
  ),

  default_model_filename: acted(
    "file or directory of the model inside a version's directory, which it must not leave",
  ),
  cc_model_filenames: {
    ...acted(
      'the file for GPUs of that compute capability, in place of `default_model_filename`; the files of a version must have the same tensors',
    ),
    onCpu: hint('chooses a file by the compute capability of a GPU; instances run on the CPU'),
  },
  metric_tags: acted("labels of the model's metrics, with `_` in front of the key"),

  parameters: acted('given a meaning by the backend; see below'),
  'parameters.string_value': acted('the value'),

  model_warmup: acted('samples that every instance runs before the version is ready'),
  'model_warmup.name': acted('its name in messages'),
  'model_warmup.batch_size': acted('requests that run together, each of one row; 0: the sample is left out'),
  'model_warmup.inputs': acted('an entry for each input'),
  'model_warmup.inputs.data_type': acted("the input's type"),
  'model_warmup.inputs.dims': acted('the shape without the batch dimension, all of it fixed'),
  'model_warmup.inputs.zero_data': acted('its presence: zeros; empty strings'),
  'model_warmup.inputs.random_data': acted('its presence: random bytes; empty strings'),
  'model_warmup.inputs.input_data_file': acted(
    "a file in the model's folder `warmup`, with the bytes of the tensor; strings, each behind its length in 4 bytes",
  ),
  'model_warmup.count': acted('how often it is run; 0: once'),
  model_operations: container,
  'model_operations.op_library_filename': {
    ...acted(
      "libraries of custom operators, in the model's directory, that of the runtime's library or a trusted one; relative paths start at the model's",
    ),
    only: {
      backends: ['onnxruntime', 'tensorflow'],
      others: hint('for models of ONNX Runtime and TensorFlow'),
    },
  },
  model_transaction_policy: container,
  'model_transaction_policy.decoupled': acted(
    'a request gets any number of responses, read with `stream`; of backends that can do it',
  ),
  model_repository_agents: container,
  'model_repository_agents.agents': acted(
    'agents that are called when the model is loaded and unloaded, in this order',
  ),
  'model_repository_agents.agents.name': acted(
    '`checksum`, one that the program has registered, or one of the option `repositoryAgentDirectory`',
  ),
  'model_repository_agents.agents.parameters': acted('given to the agent'),
  response_cache: container,
  'response_cache.enable': acted(
    'its responses come from the response cache, if the server has one (option `cacheConfig`)',
  ),
  model_metrics: container,
  'model_metrics.metric_control': container,
  'model_metrics.metric_control.metric_identifier': container,
  'model_metrics.metric_control.metric_identifier.family': acted(
    '`nv_inference_first_response_histogram_ms` is the one that has buckets to choose',
  ),
  'model_metrics.metric_control.histogram_options': container,
  'model_metrics.metric_control.histogram_options.buckets': acted(
    'bounds in milliseconds; the histogram is kept with the option `metricsConfig.histogramLatencies`',
  ),
};

/**
 * The row for a field: its own, or that of the nearest enclosing field.
 *
 * @param path - A path without indices, such as `input.dims`.
 */
export function supportOf(path: string): { readonly row: string; readonly support: Support } {
  for (let row = path; row !== ''; row = row.slice(0, Math.max(row.lastIndexOf('.'), 0))) {
    const support = supportTable[row];
    if (support !== undefined) return { row, support };
  }
  throw new TypeError(`no row covers the field ${path}`);
}
