/** The TensorRT backend's decisions: which library, and on which GPUs. */

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { TritonError } from '../errors.js';
import type { BackendConfig } from '../options.js';
import { cpu, type Backend, type BackendContext } from './backend.js';

/** The library of the versions that can be used. */
const fileName = 'libnvinfer.so.10';

/** Where packages of the systems and NVIDIA's archives put it, after the folders of LD_LIBRARY_PATH. */
const usualFolders: readonly string[] = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/local/lib',
  '/usr/local/tensorrt/lib',
  '/opt/tensorrt/lib',
];

/** Path of the library, or why there is none. */
function find(options: BackendConfig): { readonly path: string } | { readonly missing: string } {
  const named = options['library'];
  if (named !== undefined) return { path: String(named) };
  if (process.platform !== 'linux') return { missing: `TensorRT is not used on ${process.platform}` };
  const own = (process.env['LD_LIBRARY_PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = [...own, ...usualFolders];
  const path = folders.map((folder) => join(folder, fileName)).find((file) => existsSync(file));
  if (path !== undefined) return { path };
  return {
    missing:
      `there is no ${fileName} in ${folders.join(', ')}: install TensorRT 10, ` +
      'or name its library with backendConfig.tensorrt.library',
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
  settings({ options, devices }: BackendContext): Record<string, string> {
    const used = [...new Set(devices)].filter((device) => device !== cpu).sort((a, b) => a - b);
    return {
      ...librarySettings(options),
      // Without any, the native side says that plans run on GPUs only.
      devices: used.length === new Set(devices).size ? used.join(',') : '',
    };
  },
};
