/** The configurations under `configs/` that load and answer a request, with their notes. */

import {
  addModel,
  fixedBatchModel,
  optionalInputModel,
  raggedSumModel,
  rowSumModel,
  sumAndDifferenceModel,
} from '../support/models.js';
import { stumpModel } from '../support/models/stump.js';
import type { Served } from './case.js';

const completed = ['input[0]', 'output[0]'];

/** Expected results by folder. */
export const served: Readonly<Record<string, Served>> = {
  // Models for texts, images and tables.
  text_classifier: {
    config: {
      'dynamic_batching.preferred_batch_size': [8, 16],
      'dynamic_batching.max_queue_delay_microseconds': 500,
      'instance_group.0.count': 2,
      'instance_group.0.name': 'text_classifier_0',
    },
  },
  sentence_encoder: {
    config: { 'dynamic_batching.preferred_batch_size': [64], 'output.1.dims': [128, 384] },
  },
  priority_levels: {
    config: {
      'dynamic_batching.priority_levels': 3,
      'dynamic_batching.priority_queue_policy.3.timeout_action': 'DELAY',
    },
  },
  response_cache_on: { notes: ['response_cache.enable'], config: { 'response_cache.enable': true } },
  queue_policy: { config: { 'dynamic_batching.default_queue_policy.max_queue_size': 64 } },
  bounded_queue: { config: { 'dynamic_batching.default_queue_policy.max_queue_size': 100 } },
  ordered_responses: { config: { 'dynamic_batching.preserve_ordering': true } },
  ragged_texts: { model: raggedSumModel, config: { 'dynamic_batching.preferred_batch_size': [16] } },
  scattered_output: { config: { 'batch_output.0.source_input': ['x'] } },
  token_tagger: { config: { 'dynamic_batching.preferred_batch_size': [16] } },
  resnet50: {
    notes: ['input[0].format'],
    config: { 'instance_group.0.count': 1, platform: 'onnxruntime_onnx' },
  },
  mobilenet: {
    notes: ['input[0].format'],
    config: { platform: 'onnxruntime_onnx', 'output.0.name': 'StatefulPartitionedCall/dense/Softmax:0' },
  },
  object_detector: {},
  segmenter_fp16: { notes: ['input[0].format'], config: { 'dynamic_batching.preferred_batch_size': [4] } },
  gate_bf16: {},
  text_normalizer: {},
  tabular_features: {},
  enum_numbers: {
    config: {
      'input.0.data_type': 'TYPE_FP32',
      'output.0.data_type': 'TYPE_INT64',
      'instance_group.0.kind': 'KIND_CPU',
    },
  },

  gradient_boosting: {
    model: () => stumpModel(32),
    file: 'xgboost.json',
    config: { default_model_filename: 'xgboost.json', 'output.0.dims': [2] },
  },

  // Shapes that differ from the model's.
  depth_map: { config: { 'input.0.reshape.shape': [1024] } },
  scalar_score: { config: { 'output.0.reshape.shape': [] } },
  scalar_without_batch: { config: { 'input.0.reshape.shape': [] } },
  point_cloud: {},
  biased_sum: { model: optionalInputModel, config: { 'input.1.optional': true } },
  fewer_outputs: { model: sumAndDifferenceModel },
  narrowed_input: { model: rowSumModel },
  batch_of_one: {},
  warmed_up: {},
  huge_batch: { config: { 'dynamic_batching.preferred_batch_size': [2147483647] } },

  // Sequences.
  sequence_direct: {
    config: {
      'sequence_batching.direct.minimum_slot_utilization': 0.5,
      'sequence_batching.control_input.1.name': 'READY',
    },
  },
  sequence_oldest: {
    config: {
      'sequence_batching.oldest.preferred_batch_size': [8, 16],
      'sequence_batching.oldest.max_candidate_sequences': 128,
    },
  },
  sequence_implicit_state: {
    files: { 'initial_state/c0.bin': new Uint8Array(2 * 128 * 4) },
    config: {
      'sequence_batching.state.0.dims': [2, 128],
      'sequence_batching.state.1.initial_state.0.data_file': 'c0.bin',
    },
  },
  sequence_iterative: {
    config: { 'sequence_batching.max_sequence_idle_microseconds': 1_000_000 },
  },

  // Settings of the runtime.
  graph_level_basic: { config: { 'optimization.graph.level': -1 } },
  graph_level_off: { config: { 'optimization.graph.level': 2 } },
  thread_counts: { config: { 'parameters.intra_op_thread_count.string_value': '1' } },
  memory_switches: {},
  arena_shrinkage: {},
  instance_groups_two: {
    notes: ['instance_group[0].host_policy', 'instance_group[1].host_policy'],
    config: {
      'instance_group.0.name': 'near',
      'instance_group.1.count': 2,
      'instance_group.2.name': 'instance_groups_two_2',
    },
  },
  kind_auto: { config: { 'instance_group.0.count': 2 } },
  identity_delay: { file: null, config: { platform: '', 'instance_group.0.count': 2 } },

  // Versions and files.
  version_latest_two: { folders: [1, 2, 10], versions: [2, 10] },
  version_all: { folders: [1, 2, 10], versions: [1, 2, 10] },
  version_specific: { folders: [1, 2, 3], versions: [1, 3] },
  version_empty_policy: { folders: [4, 5], versions: [4, 5] },
  renamed_file: { file: 'classifier-int8.onnx' },

  // Missing parts are completed from the model's file.
  completion_comment_only: {
    model: addModel,
    notes: ['max_batch_size', ...completed, 'dynamic_batching'],
    config: {
      max_batch_size: 4,
      'input.0.dims': [16],
      platform: 'onnxruntime_onnx',
      'dynamic_batching.preferred_batch_size': [],
    },
  },
  completion_platform_only: {
    model: addModel,
    notes: ['max_batch_size', ...completed, 'dynamic_batching'],
    config: { max_batch_size: 4, backend: 'onnxruntime', default_model_filename: 'model.onnx' },
  },
  completion_batch_size_only: {
    model: addModel,
    notes: [...completed, 'dynamic_batching'],
    config: { max_batch_size: 16, 'output.0.name': 'y' },
  },
  completion_scheduler_only: {
    model: addModel,
    notes: ['max_batch_size', ...completed],
    config: {
      max_batch_size: 4,
      'dynamic_batching.preferred_batch_size': [4],
      'dynamic_batching.max_queue_delay_microseconds': 1000,
    },
  },
  completion_inputs_only: {
    model: addModel,
    notes: ['max_batch_size', 'output[0]', 'dynamic_batching'],
    config: { max_batch_size: 4, 'output.0.dims': [16] },
  },
  completion_fixed_batch: {
    model: fixedBatchModel,
    notes: ['max_batch_size', ...completed],
    config: { max_batch_size: 0, 'input.0.dims': [4, 16], dynamic_batching: undefined },
  },

  // Settings without an effect here, or anywhere.
  gpu_tuning_left_in: {
    notes: [
      'optimization.priority',
      'optimization.cuda.graphs',
      'optimization.cuda.busy_wait_events',
      'optimization.cuda.graph_spec',
      'optimization.cuda.output_copy_stream',
      'optimization.input_pinned_memory',
      'optimization.output_pinned_memory',
      'optimization.gather_kernel_buffer_threshold',
      'optimization.eager_batching',
      'cc_model_filenames',
      'parameters["cudnn_conv_algo_search"]',
      'parameters["gpu_mem_limit"]',
    ],
  },
  // KIND_AUTO, which means the CPU where there is no GPU.
  accelerator_tensorrt: {
    notes: ['optimization.execution_accelerators.gpu_execution_accelerator[0]'],
  },
  accelerator_cuda_on_cpu: {
    notes: ['optimization.execution_accelerators.gpu_execution_accelerator[0]'],
  },
  labelled_metrics: { config: { 'metric_tags.team': 'search' } },
  rate_limited: { notes: ['instance_group[0].rate_limiter'] },
  custom_parameters: {
    notes: [
      'parameters["tokenizer"]',
      'parameters["trained_on"]',
      'parameters["mean"]',
      'parameters["intra_op_threads_count"]',
    ],
  },
  written_defaults: { notes: ['optimization.input_pinned_memory', 'optimization.output_pinned_memory'] },
  odd_but_legal: {
    folders: [1, 2],
    versions: [1, 2],
    notes: ['dynamic_batching.default_priority_level'],
    config: { 'instance_group.0.count': 1, 'instance_group.1.name': 'twins' },
  },

  // One configuration, written in many ways.
  format_angle_brackets: {
    config: { 'dynamic_batching.preferred_batch_size': [4, 8], 'output.0.dims': [16] },
  },
  format_one_line: { config: { max_batch_size: 8, 'input.0.dims': [16] } },
  format_quotes: {
    config: {
      backend: 'onnxruntime',
      'input.0.name': 'tête',
      'output.0.name': 'A"b',
      'output.1.name': "it's",
    },
  },
  format_separators: {
    config: {
      max_batch_size: 16,
      'input.0.dims': [16],
      'output.0.dims': [16],
      'dynamic_batching.preferred_batch_size': [4, 8],
      'dynamic_batching.max_queue_delay_microseconds': 100,
    },
  },
  format_repeated_blocks: {
    config: {
      'input.0.name': 'a',
      'input.1.name': 'b',
      'input.1.dims': [4, 4],
      'dynamic_batching.preferred_batch_size': [2, 4, 6, 8],
    },
  },
  format_comments: { config: { backend: 'onnxruntime', 'input.0.name': 'a#b', 'input.0.dims': [2, 8] } },
};
