/** The TensorRT provider of ONNX Runtime: its options, from the accelerator `tensorrt`. */

import { indexPath, keyPath } from '../../config/index.js';
import type { BackendContext } from '../context.js';
import { confined, ownPlaces } from '../trusted-places.js';

/** The provider's options for Triton's `precision_mode`. */
const precisions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  FP32: {},
  FP16: { trt_fp16_enable: '1' },
  BF16: { trt_bf16_enable: '1' },
  INT8: { trt_int8_enable: '1' },
};

/** The provider's names for options that Triton names differently. */
const renamed: Readonly<Record<string, string>> = {
  max_workspace_size_bytes: 'trt_max_workspace_size',
  int8_calibration_table_name: 'trt_int8_calibration_table_name',
  int8_use_native_calibration_table: 'trt_int8_use_native_calibration_table',
};

/** Options whose value is a file or folder, or several separated by semicolons. */
const paths: readonly string[] = [
  'trt_engine_cache_path',
  'trt_timing_cache_path',
  'trt_ep_context_file_path',
  'trt_onnx_model_folder_path',
  'trt_engine_decryption_lib_path',
  'trt_extra_plugin_lib_paths',
];

/**
 * Options that make the provider write files, each with the option for the place. Without a place the provider
 * would write to the working directory.
 */
const writing: Readonly<Record<string, string>> = {
  trt_engine_cache_enable: 'trt_engine_cache_path',
  trt_timing_cache_enable: 'trt_timing_cache_path',
  trt_dump_ep_context_model: 'trt_ep_context_file_path',
};

/** Options that the server sets itself. */
const own: readonly string[] = ['device_id', 'has_user_compute_stream'];

/**
 * Settings of a model with the accelerator `tensorrt`; without it, none.
 *
 * @throws {@link TritonError} INVALID_ARG for an unknown precision, a path where the model may not read or
 *   write, and a cache without a path.
 */
export function tensorRtSettings(context: BackendContext): Record<string, string> {
  const list = context.config.optimization?.execution_accelerators?.gpu_execution_accelerator ?? [];
  const index = list.findIndex(({ name }) => name === 'tensorrt');
  const parameters = list[index]?.parameters;
  if (parameters === undefined) return {};
  const field = (key: string): string =>
    keyPath(
      `${indexPath('optimization.execution_accelerators.gpu_execution_accelerator', index)}.parameters`,
      key,
    );
  const options: Record<string, string> = {};
  for (const [key, value] of Object.entries(parameters)) {
    if (value === '' || own.includes(key)) continue;
    if (key === 'precision_mode') {
      const chosen = Object.hasOwn(precisions, value) ? precisions[value] : undefined;
      if (chosen === undefined)
        throw context.fault(
          field(key),
          `expected ${Object.keys(precisions).join(', ')} but received '${value}'`,
        );
      Object.assign(options, chosen);
    } else if (paths.includes(key)) {
      options[key] = value
        .split(';')
        .filter((path) => path !== '')
        .map((path) => confined(context, field(key), path, ownPlaces(context)))
        .join(';');
    } else {
      const name = renamed[key] ?? key;
      // The provider searches it in the folder of the cache.
      if (name === 'trt_int8_calibration_table_name' && /[/\\]/.test(value))
        throw context.fault(
          field(key),
          `expected the name of a file, without a folder, but received '${value}'`,
        );
      options[name] = value;
    }
  }
  for (const [key, place] of Object.entries(writing)) {
    if (['1', 'true'].includes((options[key] ?? '').toLowerCase()) && options[place] === undefined)
      throw context.fault(field(key), `also needs ${place}, the folder or file to write to`);
  }
  return {
    tensorrt: '1',
    ...Object.fromEntries(Object.entries(options).map(([key, value]) => [`tensorrt.${key}`, value])),
  };
}
