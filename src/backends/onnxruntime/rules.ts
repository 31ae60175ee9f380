/** The rules for configurations of ONNX models: their parameters and accelerators. */

import {
  parameterRow,
  type BackendRules,
  type ParameterSupport,
  type SupportClass,
} from '../../config/index.js';

/** An option of the CUDA provider. */
const cuda = (text: string, integer = true): ParameterSupport =>
  parameterRow('acted', `GPU instances: ${text}`, {
    integer,
    onCpu: { class: 'hint', text: 'an option of the CUDA provider; instances run on the CPU' },
  });

const own = (kind: SupportClass, text: string, neutral: readonly string[] = []): ParameterSupport =>
  parameterRow(kind, text, { neutral });

const place = (text: string): ParameterSupport =>
  own('acted', `${text}; in the model's directory or a trusted one`);

const address = own('refused', 'an address in the memory of a process cannot be written in a file');

/** The rules of this backend. */
export const rules: BackendRules = {
  optionalNeedsNoBatch: true,
  ragged: 'joined',
  parameters: {
    intra_op_thread_count: parameterRow('acted', 'threads of a pool of its own; 0: as if absent', {
      integer: true,
    }),
    inter_op_thread_count: parameterRow(
      'acted',
      'threads that run operators side by side, with execution_mode 1',
      { integer: true },
    ),
    execution_mode: parameterRow('acted', '0: one operator after the other, 1: side by side', {
      integer: true,
    }),
    enable_mem_arena: parameterRow('acted', "0 switches the runtime's arena off", { integer: true }),
    enable_mem_pattern: parameterRow('acted', "0 switches the runtime's memory patterns off", {
      integer: true,
    }),
    'memory.enable_memory_arena_shrinkage': parameterRow(
      'acted',
      'arenas to shrink after each run: `cpu:0`, and `gpu:N` where all instances are on GPU N, separated by semicolons',
    ),
    'session.use_device_allocator_for_initializers': parameterRow(
      'acted',
      '1: weights do not live in the arena',
      { integer: true },
    ),
    'session.intra_op.allow_spinning': parameterRow(
      'acted',
      '1: threads of its own that spin between runs, too; 0: threads that sleep; default: large models spin within runs (not in Triton)',
      { integer: true },
    ),
    profile_file_prefix: parameterRow(
      'acted',
      "writes a profile to <prefix>_<date>.json at unload, in the model's directory or a trusted one (not in Triton)",
    ),
    cudnn_conv_algo_search: cuda('0 exhaustive, 1 heuristic, 2 default'),
    gpu_mem_limit: cuda("most bytes of the runtime's arena on the GPU"),
    arena_extend_strategy: cuda('0 grows to the next power of two, 1 by the requested size'),
    do_copy_in_default_stream: cuda('0 copies in streams of their own', false),
    max_concurrency: cuda(
      'how many batches may be under way at once, so that copies of one overlap kernels of another; default: 2 (not in Triton)',
    ),
  },
  accelerators: {
    gpu_execution_accelerator: {
      cuda: {
        class: 'acted',
        text: 'its parameters are options of the CUDA provider, which GPU instances have anyway',
        onCpu: { class: 'hint', text: 'serves instances on GPUs; there are none' },
        parameters: {
          device_id: own('hint', "the GPU is the instance's"),
          enable_cuda_graph: own(
            'acted',
            '1: batches are launched as CUDA graphs, one for each shape and lane, where all tensors are on the GPU and ' +
              'the shapes of outputs are known before; needs ONNX Runtime 1.23',
            ['0', 'false', 'False'],
          ),
          has_user_compute_stream: own('hint', 'a stream of the server is used anyway'),
          user_compute_stream: address,
          gpu_external_alloc: address,
          gpu_external_free: address,
          gpu_external_empty_cache: address,
        },
      },
      tensorrt: {
        class: 'acted',
        text:
          'TensorRT computes what it can of a model on a GPU, and CUDA the rest; parameters that are not listed here are ' +
          'options of the TensorRT provider',
        onCpu: { class: 'hint', text: 'serves instances on GPUs; there are none' },
        parameters: {
          precision_mode: own('acted', 'FP32, FP16, BF16 or INT8'),
          max_workspace_size_bytes: own('acted', 'most bytes for the scratch memory of an engine'),
          int8_calibration_table_name: own('acted', 'name of a file in trt_engine_cache_path'),
          int8_use_native_calibration_table: own('acted', '1: the table is of TensorRT itself'),
          trt_engine_cache_path: place('where engines are kept, with trt_engine_cache_enable'),
          trt_timing_cache_path: place('where times are kept, with trt_timing_cache_enable'),
          trt_ep_context_file_path: place('where a model with its engines is written'),
          trt_onnx_model_folder_path: place('where the model of a written one is'),
          trt_extra_plugin_lib_paths: place('libraries of plugins, separated by semicolons'),
          trt_engine_decryption_lib_path: place('a library that decrypts engines'),
          trt_cuda_graph_enable: own(
            'refused',
            'a graph that TensorRT captures inside of ONNX Runtime is not told from others by its shapes',
            ['0', 'false', 'False'],
          ),
          trt_dump_subgraphs: own('refused', 'files would be written to the working directory', [
            '0',
            'false',
            'False',
          ]),
          device_id: own('hint', "the GPU is the instance's"),
          has_user_compute_stream: own('hint', 'a stream of the server is used anyway'),
          user_compute_stream: address,
          trt_onnx_bytestream: address,
          trt_onnx_bytestream_size: address,
          trt_external_data_bytestream: address,
          trt_external_data_bytestream_size: address,
        },
      },
    },
    cpu_execution_accelerator: {
      openvino: { class: 'refused', text: 'OpenVINO inside of ONNX Runtime is not built', parameters: {} },
    },
  },
};
