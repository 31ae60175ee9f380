/** Where the file of a version's model is found. It may be another one for each kind of GPU. */

import { sep } from 'node:path';
import { knownGpus } from '../../addon/gpus.js';
import type { NativeBytes } from '../../addon/native/folder.js';
import { cpu } from '../../backends/context.js';
import type { ModelConfig } from '../../config/index.js';
import type { LocalFiles } from '../sources/model-source.js';

/** Where the file of a version's model is. */
export interface FoundModelFile {
  /** The file of the first device. If the version's files are in memory, the name of one of them. */
  readonly path: string;
  /** The file of each device, in the order of the devices. */
  readonly paths: ReadonlyMap<number, string>;
  /** The name of a file that is not in memory; undefined if all are there, or if the file lies in a folder. */
  readonly missing: string | undefined;
}

/**
 * Finds the file of a version's model: the file that is the whole model, or the configured name in the version's
 * folder or among its files in memory. Opens nothing.
 *
 * @param local - The files of the model.
 * @param inMemory - The files of the version by name, if they are in memory.
 */
export function findModelFile(
  config: ModelConfig,
  devices: readonly number[],
  version: number,
  { directory, file }: LocalFiles,
  inMemory: Readonly<Record<string, NativeBytes>> | undefined,
): FoundModelFile {
  const names = fileNames(config, devices);
  const pathOf = (name: string): string =>
    inMemory ? name : (file ?? `${directory}${sep}${version}${sep}${name}`);
  const paths = new Map([...names].map(([device, name]) => [device, pathOf(name)]));
  return {
    path: [...paths.values()][0] ?? pathOf(config.default_model_filename),
    paths,
    missing: [...names.values()].find((name) => inMemory && !isAmong(inMemory, name)),
  };
}

/** Whether a file of this name was given, or files in a folder of this name. */
function isAmong(inMemory: Readonly<Record<string, NativeBytes>>, name: string): boolean {
  return Object.hasOwn(inMemory, name) || Object.keys(inMemory).some((file) => file.startsWith(`${name}/`));
}

/**
 * The file's name for each device: the one that `cc_model_filenames` has for the compute capability of the GPU, and
 * `default_model_filename` for other GPUs and the CPU, as in Triton. In the order of `devices`.
 */
function fileNames(config: ModelConfig, devices: readonly number[]): ReadonlyMap<number, string> {
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
