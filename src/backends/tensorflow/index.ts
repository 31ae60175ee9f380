/** The TensorFlow backend's decisions: the library, the part of a SavedModel, threads and sessions. */

import {
  datatypeOf,
  keyPath,
  type ModelConfig,
  type ModelDescription,
  type TensorDescription,
} from '../../config/index.js';
import type { BackendConfig } from '../../options.js';
import type { Backend } from '../backend.js';
import type { BackendContext } from '../context.js';
import { SettingsReader, type TextRule } from '../settings-reader.js';
import { operatorLibraries, operatorsField } from '../trusted-places.js';
import { initOpsKey, readInitOps } from './init-ops.js';
import { tensorFlowLibrary } from './library.js';
import { rules } from './rules.js';

/** No model needs more threads than this: the largest machines have fewer cores. A model has no more instances, either. */
const most = 1024;

const isShare: TextRule = {
  expected: 'a number of instances, 1 or more,',
  allows: (text) => /^\d+$/.test(text) && Number(text) >= 1,
};

const isFraction: TextRule = {
  expected: 'a number from 0 to 1',
  allows: (text) => /^(?:\d+\.?\d*|\.\d+)$/.test(text) && Number(text) <= 1,
};

const isVersion: TextRule = {
  expected: '2, the version of TensorFlow that there is,',
  allows: (text) => text === '2',
};

/** The parameters that the backend's configuration may have for all models. */
const general = [
  'TF_GRAPH_TAG',
  'TF_SIGNATURE_DEF',
  'TF_NUM_INTRA_THREADS',
  'TF_NUM_INTER_THREADS',
  'TF_USE_PER_SESSION_THREADS',
  'MAX_SESSION_SHARE_COUNT',
] as const;

/** The library that is about to be opened. It would otherwise write lines to stderr for each load and each failed run. */
function libraryToOpen(options: BackendConfig): string {
  const library = tensorFlowLibrary(options);
  process.env['TF_CPP_MIN_LOG_LEVEL'] ??= '2';
  return library;
}

const isGraphDef = ({ platform }: ModelConfig): boolean => platform === 'tensorflow_graphdef';

/** The libraries of custom operators. */
function librariesOf(context: BackendContext): string[] {
  return operatorLibraries(context, () => tensorFlowLibrary(context.options), 'TensorFlow');
}

/** The outputs that a configuration names in a graph. The native side looks for them. */
function namedOutputs({ output }: ModelConfig, known: ModelDescription): TensorDescription[] {
  const names = new Set(known.outputs.map(({ name }) => name));
  return output
    .filter(
      ({ name, dims, data_type }) => !names.has(name) && dims.length > 0 && data_type !== 'TYPE_INVALID',
    )
    .map(({ name, data_type }) => ({
      ...{ name, datatype: datatypeOf(data_type), typeName: data_type },
      ...{ shape: undefined, optional: false, dimNames: [] },
    }));
}

/**
 * TensorFlow. Instances share sessions, as MAX_SESSION_SHARE_COUNT says, and sessions share their threads.
 *
 * It reads the parameters of {@link rules} from a model's `parameters`, and most of them, if absent there, from
 * `backendConfig.tensorflow`. It reads the other keys only from `backendConfig.tensorflow`.
 */
export const backend: Backend = {
  name: 'tensorflow',
  needsFile: true,
  explainsFiles: true,
  rules,
  optionKeys: [
    'library',
    'allow-soft-placement',
    'gpu-memory-fraction',
    'version',
    'default-max-batch-size',
    ...general,
  ],
  paths: { library: 'library' },
  runtime: { title: 'TensorFlow', settings: (options) => ({ library: libraryToOpen(options) }) },
  reshaped(description: ModelDescription, config: ModelConfig): ModelDescription {
    if (!isGraphDef(config)) return description;
    return { ...description, outputs: [...description.outputs, ...namedOutputs(config, description)] };
  },
  settings(context: BackendContext): Record<string, string> {
    const { config, cores } = context;
    const read = new SettingsReader(context);
    // These have no effect without a GPU and with one version, but a wrong value is a mistake.
    read.text('gpu-memory-fraction', isFraction);
    read.text('version', isVersion);
    const signature = read.text('TF_SIGNATURE_DEF');
    const intra = read.integer('TF_NUM_INTRA_THREADS', most) ?? 0;
    const inter = read.integer('TF_NUM_INTER_THREADS', most) ?? 0;
    const share = Number(read.text('MAX_SESSION_SHARE_COUNT', isShare) ?? 1);
    const ownThreads = read.boolean('TF_USE_PER_SESSION_THREADS') ?? false;
    const softPlacement = read.boolean('allow-soft-placement') ?? true;
    const file = read.own(initOpsKey);
    const operators = librariesOf(context);
    return {
      library: libraryToOpen(context.options),
      format: isGraphDef(config) ? 'graphdef' : 'savedmodel',
      tag: read.text('TF_GRAPH_TAG') ?? 'serve',
      ...(signature !== undefined && { signature }),
      intra_op_threads: String(intra > 0 ? intra : cores),
      // With one thread, the thread that has the batch runs the operators: no other one has to be woken.
      inter_op_threads: String(Math.max(inter, 1)),
      ...(ownThreads && { session_threads: 'true' }),
      share: String(Math.min(share, most)),
      ...(file !== undefined && { init_ops: readInitOps(context, file).join('\n') }),
      ...(operators.length > 0 && { operators: operators.join('\n') }),
      soft_placement: String(softPlacement),
    };
  },
  blame(message: string, context: BackendContext): string | undefined {
    const library = librariesOf(context).findIndex((path) => message.includes(path));
    if (library >= 0) return operatorsField(library);
    const read = new SettingsReader(context);
    const key = ['TF_GRAPH_TAG', 'TF_SIGNATURE_DEF', initOpsKey].find(
      (one) => read.own(one) !== undefined && message.includes(one),
    );
    return key === undefined ? undefined : keyPath('parameters', key);
  },
};
