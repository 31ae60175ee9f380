/**
 * The support of execution accelerators: the part of the class table for `optimization.execution_accelerators`.
 */

import type { ParameterSupport } from './parameter-support.js';
import type { Support } from './field-support.js';

/** The two lists of accelerators that a configuration may have. */
export const acceleratorLists = ['gpu_execution_accelerator', 'cpu_execution_accelerator'] as const;

/** One of {@link acceleratorLists}. */
export type AcceleratorList = (typeof acceleratorLists)[number];

/** A row: an accelerator. */
export interface AcceleratorSupport extends Support {
  /** The keys of its `parameters` that are not simply passed on. */
  readonly parameters: Readonly<Record<string, ParameterSupport>>;
}

const own = (kind: Support['class'], text: string, neutral: readonly string[] = []): ParameterSupport => ({
  class: kind,
  text,
  integer: false,
  neutral,
});

const place = (text: string): ParameterSupport =>
  own('acted', `${text}; in the model's directory or a trusted one`);

const address = own('refused', 'an address in the memory of a process cannot be written in a file');

/**
 * The accelerators by backend and name. For these backends any other name is an error. Other backends have no
 * accelerators.
 */
export const backendAccelerators: Readonly<
  Record<string, Readonly<Record<AcceleratorList, Readonly<Record<string, AcceleratorSupport>>>>>
> = {
  onnxruntime: {
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
