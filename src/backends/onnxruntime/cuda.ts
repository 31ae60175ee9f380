/** ONNX Runtime on GPUs: whether its CUDA provider is present, and the options of its providers. */

import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TritonError } from '../../errors.js';
import type { BackendConfig } from '../../options.js';
import { cpu, type BackendContext } from '../context.js';
import { gpuSettings } from '../gpu-settings.js';
import { onnxRuntimeLibrary } from './library.js';
import { tensorRtSettings } from './tensorrt.js';
import type { SettingsReader } from '../settings-reader.js';

/** The files of the provider. The runtime searches them only in the folder of its own library. */
const providerFiles: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: ['libonnxruntime_providers_cuda.so', 'libonnxruntime_providers_shared.so'],
  win32: ['onnxruntime_providers_cuda.dll', 'onnxruntime_providers_shared.dll'],
};

/**
 * Why the library that the options name has no CUDA provider; undefined if it has one.
 *
 * @param options - `backendConfig.onnxruntime`.
 */
export function missingProvider(options: BackendConfig): string | undefined {
  const files = providerFiles[process.platform];
  if (files === undefined) return `ONNX Runtime has no CUDA provider for ${process.platform}`;
  let folder: string;
  try {
    folder = dirname(realpathSync(onnxRuntimeLibrary(options)));
  } catch (error) {
    return error instanceof TritonError
      ? error.message
      : `the ONNX Runtime library '${onnxRuntimeLibrary(options)}' cannot be read`;
  }
  const missing = files.find((file) => !existsSync(join(folder, file)));
  return missing === undefined
    ? undefined
    : `there is no ${missing} in '${folder}', the folder of the ONNX Runtime library: install a GPU build of ONNX ` +
        'Runtime (onnxruntime-gpu of PyPI or Microsoft.ML.OnnxRuntime.Gpu of NuGet) and name its library with ' +
        'backendConfig.onnxruntime.library';
}

/** The runtime's names for the numeric values of Triton's deprecated parameters. */
const named: Readonly<Record<string, readonly string[]>> = {
  cudnn_conv_algo_search: ['EXHAUSTIVE', 'HEURISTIC', 'DEFAULT'],
  arena_extend_strategy: ['kNextPowerOfTwo', 'kSameAsRequested'],
};

/** Options that the server sets for each instance, so models cannot set them. */
const own: readonly string[] = ['device_id', 'has_user_compute_stream'];

/**
 * Settings of a model with instances on GPUs: the GPU ids, how batches run, and the options of the TensorRT
 * provider ({@link tensorRtSettings}) and the CUDA provider. The CUDA provider's options are the parameters of
 * the accelerator `cuda` in `gpu_execution_accelerator`. As in Triton, the model's parameters
 * `cudnn_conv_algo_search`, `gpu_mem_limit`, `arena_extend_strategy` and `do_copy_in_default_stream` override
 * them. A model on the CPU has no such settings.
 *
 * @throws {@link TritonError} INVALID_ARG for a number without a meaning.
 */
export function cudaSettings(read: SettingsReader, context: BackendContext): Record<string, string> {
  const { config, devices } = context;
  const used = [...new Set(devices)].sort((a, b) => a - b);
  if (used.every((device) => device === cpu)) return {};
  const settings: Record<string, string> = {
    devices: used.join(','),
    ...gpuSettings(context),
    ...tensorRtSettings(context),
  };
  for (const { name, parameters } of config.optimization?.execution_accelerators?.gpu_execution_accelerator ??
    []) {
    if (name !== 'cuda') continue;
    for (const [key, value] of Object.entries(parameters))
      if (value !== '' && !own.includes(key)) settings[`cuda.${key}`] = value;
  }
  for (const [key, names] of Object.entries(named)) {
    const name = names[read.integer(key, names.length - 1) ?? -1];
    if (name !== undefined) settings[`cuda.${key}`] = name;
  }
  for (const key of ['gpu_mem_limit', 'do_copy_in_default_stream']) {
    const value = read.text(key);
    if (value !== undefined) settings[`cuda.${key}`] = value;
  }
  return settings;
}
