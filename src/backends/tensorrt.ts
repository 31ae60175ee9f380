/** The TensorRT backend's decisions: which library, and on which GPUs. */

import { invalidArgument, TritonError, unavailable } from '../errors.js';
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

/** Reads the switch of an option: true, false, 1 or 0, as Triton's command line has them. */
function isOn(options: BackendConfig, key: string): boolean {
  const text = String(options[key] ?? false).toLowerCase();
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw invalidArgument(
    `expected true or false for backendConfig.tensorrt['${key}'] but received '${String(options[key])}'`,
  );
}

/**
 * Reads `execution-policy`: whether each instance has a thread that enqueues its batches. Otherwise one thread
 * does so for a GPU, which Triton calls DEVICE_BLOCKING and has as its default.
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
 * Reads `lean-runtime`: the library that reads version-compatible plans of its version that were built without it.
 * Its code is run in this process, as that of such plans is.
 */
function leanRuntime(options: BackendConfig): string | undefined {
  const file = options['lean-runtime'];
  if (file === undefined) return undefined;
  if (isOn(options, 'version-compatible')) return String(file);
  throw invalidArgument(
    "backendConfig.tensorrt['lean-runtime'] also needs version-compatible: true, because it reads such plans only",
  );
}

/** The profiles of each instance, in the order of the instances; '' where no group names any. */
function profilesOf({ config }: BackendContext): string {
  if (config.instance_group.every(({ profile }) => profile.length === 0)) return '';
  return config.instance_group
    .flatMap(({ kind, count, gpus, profile }) => {
      const numbers = profile.length === 0 ? '0' : [...new Set(profile.map(Number))].join(',');
      return Array.from({ length: count * (kind === 'KIND_GPU' ? gpus.length : 1) }, () => numbers);
    })
    .join(';');
}

/** The dims of one input of a graph, as the native side reads them. */
const dimsText = (dims: readonly number[]): string => (dims.length === 0 ? '-' : dims.join(','));

/**
 * What `optimization.cuda` says of the stream of copies back, and of graphs: whether there are any, of which shapes, and the preferred sizes of the
 * dynamic batcher, which Triton records where no `graph_spec` is given.
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
 * TensorRT. A version has one engine on each GPU, which its instances there share. It reads `library`,
 * `version-compatible`, `lean-runtime`, `plugins` and `execution-policy` from `backendConfig.tensorrt`.
 */
export const tensorrt: Backend = {
  name: 'tensorrt',
  opens: 'native',
  needsFile: true,
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
    // Requests' inputs are always gathered in one piece.
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
