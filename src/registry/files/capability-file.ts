/** Which file of a version's directory is its model, where that depends on the GPU. */

import { knownGpus } from '../../addon/gpus.js';
import { cpu } from '../../backends/context.js';
import type { ModelConfig } from '../../config/index.js';

/**
 * The file of each device: the one that `cc_model_filenames` names for the compute capability of the GPU, and
 * `default_model_filename` for other GPUs and the CPU, as in Triton. In the order of `devices`.
 */
export function modelFilesOf(config: ModelConfig, devices: readonly number[]): ReadonlyMap<number, string> {
  const { cc_model_filenames: byCapability, default_model_filename: otherwise } = config;
  const gpus = knownGpus().devices;
  return new Map(
    devices.map((device) => {
      const gpu = device === cpu ? undefined : gpus[device];
      const capability = gpu === undefined ? '' : `${gpu.major}.${gpu.minor}`;
      const own = Object.hasOwn(byCapability, capability) ? byCapability[capability] : undefined;
      return [device, own ?? otherwise];
    }),
  );
}

/**
 * The settings that tell the native side of different files (`native/backends/gpu/device_files.h`); none if all
 * devices take one.
 *
 * @param paths - By device.
 */
export function fileSettings(
  { input, output }: ModelConfig,
  paths: ReadonlyMap<number, string>,
): Record<string, string> {
  if (new Set(paths.values()).size < 2) return {};
  return {
    ...Object.fromEntries([...paths].map(([device, path]) => [`file.${device}`, path])),
    written_dims: [...input, ...output]
      .filter(({ dims }) => dims.length > 0)
      .map(({ name }) => name)
      .join('\n'),
  };
}
