/** The TensorRT backend's decisions: the library, and the GPUs. */

import { parameterRow } from '../../config/index.js';
import { invalidArgument, TritonError, unavailable } from '../../errors.js';
import type { BackendConfig } from '../../options.js';
import type { Backend } from '../backend.js';
import { cpu, type BackendContext } from '../context.js';
import { gpuSettings } from '../gpu-settings.js';
import { findLibrary } from '../system-libraries.js';

/**
 * The supported libraries. The full TensorRT is searched first. Then come the runtimes that read only
 * version-compatible plans, and TensorRT for RTX, whose plans have another format. Newer versions come first.
 */
const fileNames: readonly string[] = [
  ...['libnvinfer', 'libnvinfer_lean', 'libnvinfer_dispatch'].flatMap((name) => [
    `${name}.so.11`,
    `${name}.so.10`,
  ]),
  'libtensorrt_rtx.so.1',
];

/** The folders that NVIDIA's archives are usually unpacked to. */
const usualFolders: readonly string[] = ['/usr/local/tensorrt/lib', '/opt/tensorrt/lib'];

/** Path of the library, or why it was not found. */
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

/** Reads a boolean option: true, false, 1 or 0, as on Triton's command line. */
function isOn(options: BackendConfig, key: string): boolean {
  const text = String(options[key] ?? false).toLowerCase();
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw invalidArgument(
    `expected true or false for backendConfig.tensorrt['${key}'] but received '${String(options[key])}'`,
  );
}

/**
 * Reads `execution-policy`: whether each instance has its own thread that enqueues its batches. If not, one
 * thread per GPU does, which is Triton's default DEVICE_BLOCKING.
 */
function isBlocking(options: BackendConfig): boolean {
  const policy = options['execution-policy'] ?? 'DEVICE_BLOCKING';
  if (policy === 'BLOCKING') return true;
  if (policy === 'DEVICE_BLOCKING') return false;
  throw invalidArgument(
    `expected DEVICE_BLOCKING or BLOCKING for backendConfig.tensorrt['execution-policy'] but received '${String(policy)}'`,
  );
}

/**
 * Reads `lean-runtime`: the library that reads version-compatible plans of its version that were built without
 * it. Its code runs in this process, like the code in such plans.
 */
function leanRuntime(options: BackendConfig): string | undefined {
  const file = options['lean-runtime'];
  if (file === undefined) return undefined;
  if (isOn(options, 'version-compatible')) return String(file);
  throw invalidArgument(
    "backendConfig.tensorrt['lean-runtime'] also needs version-compatible: true, because it reads such plans only",
  );
}

/** The optimization profiles of each instance, in the order of the instances; '' if no group names any. */
function profilesOf({ config }: BackendContext): string {
  if (config.instance_group.every(({ profile }) => profile.length === 0)) return '';
  return config.instance_group
    .flatMap(({ kind, count, gpus, profile }) => {
      const numbers = profile.length === 0 ? '0' : [...new Set(profile.map(Number))].join(',');
      return Array.from({ length: count * (kind === 'KIND_GPU' ? gpus.length : 1) }, () => numbers);
    })
    .join(';');
}

/** The dims of a graph's input, in the native side's format. */
const dimsText = (dims: readonly number[]): string => (dims.length === 0 ? '-' : dims.join(','));

/**
 * The settings from `optimization.cuda`: the stream for output copies, and CUDA graphs. For graphs they include
 * the shapes, and the dynamic batcher's preferred sizes, which Triton captures if there is no `graph_spec`.
 */
function graphSettings({ config }: BackendContext): Record<string, string> {
  const cuda = config.optimization?.cuda;
  const copies = cuda?.output_copy_stream === true && { output_copy_stream: 'true' };
  if (cuda?.graphs !== true) return { ...copies };
  const lines = cuda.graph_spec.flatMap(({ batch_size, input, graph_lower_bound: bound }) => [
    `graph ${batch_size} ${bound?.batch_size ?? batch_size}`,
    ...Object.entries(input).map(
      ([name, { dim }]) => `input ${dimsText(dim)} ${dimsText(bound?.input[name]?.dim ?? dim)} ${name}`,
    ),
  ]);
  const preferred = config.dynamic_batching?.preferred_batch_size ?? [];
  return {
    ...copies,
    graphs: 'true',
    ...(lines.length > 0 && { graph_specs: lines.join('\n') }),
    ...(preferred.length > 0 && { preferred_batch_sizes: preferred.join(',') }),
  };
}

function librarySettings(options: BackendConfig): Record<string, string> {
  const found = find(options);
  if ('path' in found) return { library: found.path };
  throw unavailable('MISSING', found.missing);
}

/**
 * TensorRT. A version has one engine on each GPU, which all its instances on that GPU share. It reads
 * `library`, `version-compatible`, `lean-runtime`, `plugins` and `execution-policy` from
 * `backendConfig.tensorrt`.
 */
export const backend: Backend = {
  name: 'tensorrt',
  needsFile: true,
  rules: {
    parameters: {
      max_concurrency: parameterRow(
        'acted',
        'how many batches an instance may have under way at once, so that copies of one overlap kernels of another; default: 2 (not in Triton)',
        { integer: true },
      ),
    },
  },
  optionKeys: [
    'library',
    'version-compatible',
    'lean-runtime',
    'plugins',
    'execution-policy',
    'coalesce-request-input',
  ],
  paths: { library: 'library', 'lean-runtime': 'library', plugins: 'libraries' },
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
        : unavailable('MISSING', `${text}, and ${reason}`);
    }
    // Only checked, because requests' inputs are always gathered into one piece.
    isOn(options, 'coalesce-request-input');
    const profiles = profilesOf(context);
    const lean = leanRuntime(options);
    const plugins = String(options['plugins'] ?? '')
      .split(';')
      .filter((file) => file !== '');
    return {
      ...library,
      ...gpuSettings(context),
      ...graphSettings(context),
      ...(profiles !== '' && { profiles }),
      ...(isBlocking(options) && { execution_policy: 'BLOCKING' }),
      ...(isOn(options, 'version-compatible') && { version_compatible: '1' }),
      ...(lean !== undefined && { lean_runtime: lean }),
      ...(plugins.length > 0 && { plugins: plugins.join('\n') }),
      devices: [...new Set(devices)].sort((a, b) => a - b).join(','),
    };
  },
};
