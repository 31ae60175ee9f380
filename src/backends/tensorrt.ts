/** The TensorRT backend's decisions: which library, and on which GPUs. */

import { TritonError } from '../errors.js';
import type { BackendConfig } from '../options.js';
import { cpu, type Backend, type BackendContext } from './backend.js';
import { gpuSettings } from './gpu-settings.js';
import { findLibrary } from './system-libraries.js';

/**
 * The libraries that can be used. The whole of TensorRT is looked for first, then the runtimes that read
 * version-compatible plans only, and TensorRT for RTX, whose plans are others. Newer versions come first.
 */
const fileNames: readonly string[] = [
  ...['libnvinfer', 'libnvinfer_lean', 'libnvinfer_dispatch'].flatMap((name) => [
    `${name}.so.11`,
    `${name}.so.10`,
  ]),
  'libtensorrt_rtx.so.1',
];

/** Where NVIDIA's archives are usually unpacked. */
const usualFolders: readonly string[] = ['/usr/local/tensorrt/lib', '/opt/tensorrt/lib'];

/** Path of the library, or why there is none. */
function find(options: BackendConfig): { readonly path: string } | { readonly missing: string } {
  const named = options['library'];
  if (named !== undefined) return { path: String(named) };
  if (process.platform !== 'linux') return { missing: `TensorRT is not used on ${process.platform}` };
  const found = findLibrary(fileNames, usualFolders);
  if ('path' in found) return found;
  return {
    missing:
      `there is no TensorRT: none of ${fileNames.join(', ')} is in ${found.lookedIn.join(', ')}. Install the ` +
      'version that the plans were built with, or name its library with backendConfig.tensorrt.library',
  };
}

function librarySettings(options: BackendConfig): Record<string, string> {
  const found = find(options);
  if ('path' in found) return { library: found.path };
  throw new TritonError('UNAVAILABLE', found.missing);
}

/**
 * TensorRT. A version has one engine on each GPU, which its instances there share. It reads `library` from
 * `backendConfig.tensorrt`.
 */
export const tensorrt: Backend = {
  name: 'tensorrt',
  needsFile: true,
  optionKeys: ['library'],
  paths: { library: 'library' },
  runtime: { title: 'TensorRT', settings: librarySettings },
  onGpus: {
    missing(options: BackendConfig): string | undefined {
      const found = find(options);
      return 'missing' in found ? found.missing : undefined;
    },
  },
  settings(context: BackendContext): Record<string, string> {
    const { options, devices } = context;
    const library = librarySettings(options);
    if (devices.includes(cpu)) {
      const text = 'plans run on GPUs only';
      const reason = context.noGpu();
      throw reason === undefined
        ? new TritonError('UNSUPPORTED', `${text}: an instance_group must be KIND_GPU`)
        : new TritonError('UNAVAILABLE', `${text}, and ${reason}`);
    }
    return {
      ...library,
      ...gpuSettings(context),
      devices: [...new Set(devices)].sort((a, b) => a - b).join(','),
    };
  },
};
