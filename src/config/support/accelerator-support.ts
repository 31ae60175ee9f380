/**
 * The support of execution accelerators: the part of the class table below
 * `optimization.execution_accelerators`.
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

const address = own('refused', 'an address in the memory of a process cannot be written in a file');

/**
 * The accelerators by backend and name. For these backends other names are wrong. Other backends have no
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
            'refused',
            'captured graphs need tensors at fixed addresses in the memory of the GPU',
            ['0', 'false', 'False'],
          ),
          has_user_compute_stream: own('hint', "streams are the runtime's own"),
          user_compute_stream: address,
          gpu_external_alloc: address,
          gpu_external_free: address,
          gpu_external_empty_cache: address,
        },
      },
      tensorrt: { class: 'refused', text: 'TensorRT inside of ONNX Runtime is not built', parameters: {} },
    },
    cpu_execution_accelerator: {
      openvino: { class: 'refused', text: 'OpenVINO inside of ONNX Runtime is not built', parameters: {} },
    },
  },
};
