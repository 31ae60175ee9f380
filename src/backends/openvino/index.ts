/** The OpenVINO backend's decisions: the library, the device, and the properties of a compiled model. */

import { dirname, isAbsolute } from 'node:path';
import { keyPath, type ModelConfig, type ModelDescription } from '../../config/index.js';
import type { BackendConfig } from '../../options.js';
import type { Backend } from '../backend.js';
import type { BackendContext } from '../context.js';
import { SettingsReader, type TextRule } from '../settings-reader.js';
import { confined, ownPlaces, realPath } from '../trusted-places.js';
import { openVinoLibrary } from './library.js';
import { reshapedDescription } from './reshape.js';
import { rules } from './rules.js';

/** No model needs more threads or streams than this: the largest machines have fewer cores. */
const mostThreads = 1024;

const hints: readonly string[] = ['LATENCY', 'THROUGHPUT', 'CUMULATIVE_THROUGHPUT'];

const isHint: TextRule = {
  expected: `one of ${hints.join(', ')}`,
  allows: (text) => hints.includes(text.toUpperCase()),
};

const isStreams: TextRule = {
  expected: `AUTO, NUMA or a number from 1 to ${mostThreads}`,
  allows: (text) =>
    /^(?:auto|numa)$/i.test(text) || (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= mostThreads),
};

const isDevice: TextRule = {
  expected: 'a device of OpenVINO, such as CPU, AUTO or GPU.0',
  allows: (text) => /^[\w.,:()]+$/.test(text),
};

const isYes: TextRule = { expected: 'YES', allows: (text) => text.toUpperCase() === 'YES' };

/** As in Triton, a flag is on for YES only, in any case. */
const isOn = (value: string | undefined): boolean => value?.toUpperCase() === 'YES';

/** The properties with which the model is compiled. */
function properties(read: SettingsReader, device: string, cores: number): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const onCpu = device.startsWith('CPU');
  const bf16 = read.text('HINT_BF16', isYes) !== undefined;
  // By itself OpenVINO computes in BF16 on processors that can.
  if (onCpu || bf16) found.set('INFERENCE_PRECISION_HINT', bf16 ? 'bf16' : 'f32');
  found.set('PERFORMANCE_HINT', (read.text('PERFORMANCE_HINT', isHint) ?? 'LATENCY').toUpperCase());
  const streams = read.text('NUM_STREAMS', isStreams);
  if (streams !== undefined) found.set('NUM_STREAMS', streams.toUpperCase());
  const inference = read.integer('INFERENCE_NUM_THREADS', mostThreads) ?? 0;
  // Other devices may refuse this property.
  if (inference > 0 || onCpu) found.set('INFERENCE_NUM_THREADS', String(inference > 0 ? inference : cores));
  // OpenVINO keeps what it made for each operator and shape, 5,000 of them by default, of up to 1 MB each.
  if (onCpu) found.set('CPU_RUNTIME_CACHE_CAPACITY', '1024');
  const compilation = read.integer('COMPILATION_NUM_THREADS', mostThreads) ?? 0;
  // OpenVINO's CPU device has no such property.
  if (compilation > 0 && !onCpu) found.set('COMPILATION_NUM_THREADS', String(compilation));
  return found;
}

const extensionKey = 'CPU_EXTENSION_PATH';

/**
 * Path of the library of operators. The server's options may name any file. A model may name one in its folder, in the
 * folder of OpenVINO's library, and in the server's trusted folders.
 */
function extension(read: SettingsReader, context: BackendContext, library: string): string | undefined {
  const own = read.own(extensionKey);
  if (own === undefined) return read.text(extensionKey);
  const places = [
    ...ownPlaces(context),
    // The system searches for a name without a folder.
    ...(isAbsolute(library)
      ? [{ folder: dirname(realPath(library) ?? library), name: "the folder of OpenVINO's library" }]
      : []),
  ];
  return confined(context, keyPath('parameters', extensionKey), own, places);
}

/** The value of a parameter of the model or, if absent, of the backend's configuration. */
function writtenIn(config: ModelConfig, options: BackendConfig, key: string): string | undefined {
  const own = config.parameters[key]?.string_value;
  const value = own === undefined || own === '' ? options[key] : own;
  return value === undefined ? undefined : String(value);
}

/**
 * OpenVINO. A version has one compiled model, which all its instances share.
 *
 * It reads the parameters of {@link rules} from a model's `parameters`, or, if absent there, from
 * `backendConfig.openvino`. It reads `library` and `default-max-batch-size` only from `backendConfig.openvino`.
 */
export const backend: Backend = {
  name: 'openvino',
  needsFile: true,
  explainsFiles: true,
  // As in Triton, a model is batched only if its configuration says so: its files have no layouts.
  defaultMaxBatchSize: 0,
  rules,
  optionKeys: ['library', 'default-max-batch-size', ...Object.keys(rules.parameters ?? {})],
  paths: { library: 'library', [extensionKey]: 'library' },
  runtime: { title: 'OpenVINO', settings: (options) => ({ library: openVinoLibrary(options) }) },
  reshaped(description: ModelDescription, config: ModelConfig, options: BackendConfig): ModelDescription {
    return reshapedDescription(description, config, isOn(writtenIn(config, options, 'RESHAPE_IO_LAYERS')));
  },
  settings(context: BackendContext): Record<string, string> {
    const { options, cores } = context;
    const read = new SettingsReader(context);
    const library = openVinoLibrary(options);
    const device = (read.text('TARGET_DEVICE', isDevice) ?? 'CPU').toUpperCase();
    const operators = extension(read, context, library);
    return {
      library,
      device,
      properties: [...properties(read, device, cores)].map(([key, value]) => `${key}=${value}`).join('\n'),
      ...(operators !== undefined && { extension: operators }),
      ...(isOn(read.text('ENABLE_BATCH_PADDING')) && { padding: 'true' }),
      ...(isOn(read.text('RESHAPE_IO_LAYERS')) && { reshape: 'true' }),
    };
  },
  blame(message: string, context: BackendContext): string | undefined {
    const own = new SettingsReader(context).own(extensionKey);
    return own !== undefined && message.includes(own) ? keyPath('parameters', extensionKey) : undefined;
  },
};
