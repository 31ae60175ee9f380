/**
 * The decisions for tree models of XGBoost, LightGBM and Treelite. Triton calls this backend fil. Its native side reads and
 * evaluates the models without a library.
 */

import { basename } from 'node:path';
import { keyPath } from '../../config/index.js';
import { didYouMean } from '../../suggest.js';
import type { Backend } from '../backend.js';
import type { BackendContext } from '../context.js';
import { SettingsReader, type TextRule } from '../settings-reader.js';
import { fileOfType, rules } from './rules.js';

/** No model needs more threads than this: the largest machines have fewer cores. */
const mostThreads = 1024;

const isFlag: TextRule = {
  expected: "'true' or 'false'",
  allows: (text) => text === 'true' || text === 'false',
};

const isNumber: TextRule = {
  expected: 'a number, such as 0.5',
  allows: (text) => /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text)),
};

const isThreads: TextRule = {
  expected: `-1 (the cores) or a number of threads from 1 to ${mostThreads}`,
  allows: (text) =>
    /^[+-]?\d+$/.test(text) && (Number(text) === -1 || (Number(text) >= 1 && Number(text) <= mostThreads)),
};

const isLayout: TextRule = {
  expected: 'depth_first, breadth_first or layered',
  allows: (text) => ['depth_first', 'breadth_first', 'layered'].includes(text),
};

/** The format of a model's file. */
function typeOf(read: SettingsReader, { config, fault }: BackendContext): string {
  const types = Object.keys(fileOfType);
  const written = read.own('model_type');
  if (written === undefined) {
    const name = basename(config.default_model_filename);
    return types.find((type) => fileOfType[type] === name) ?? types[0] ?? '';
  }
  if (types.includes(written)) return written;
  throw fault(
    keyPath('parameters', 'model_type'),
    `no such format of tree models: expected ${types.join(', ')} but received '${written}'${didYouMean(written, types)}`,
    'UNSUPPORTED',
  );
}

/** The settings that follow from the outputs that the configuration writes. */
function outputSettings({ output }: BackendContext['config']): Record<string, string> {
  const columns = output.find(({ name }) => name === 'output__0')?.dims.at(-1);
  return {
    // A binary classifier has one or two columns of probabilities, as the configuration wants.
    ...(columns !== undefined && { output_columns: String(columns) }),
    ...(output.some(({ name }) => name === 'treeshap_output') && { treeshap_output: 'true' }),
  };
}

/** Tree models: gradient boosting and random forests. */
export const backend: Backend = {
  name: 'fil',
  needsFile: true,
  explainsFiles: true,
  // The value of Triton's examples. A batch needs no memory besides its rows.
  defaultMaxBatchSize: 32_768,
  rules,
  optionKeys: ['default-max-batch-size'],
  settings(context: BackendContext): Record<string, string> {
    const read = new SettingsReader(context);
    const settings: Record<string, string> = {
      model_type: typeOf(read, context),
      ...outputSettings(context.config),
    };
    const set = (key: string, value: string | undefined): void => {
      if (value !== undefined) settings[key] = value;
    };
    const older = read.text('output_class', isFlag);
    set('is_classifier', read.text('is_classifier', isFlag) ?? older);
    set('predict_proba', read.text('predict_proba', isFlag));
    set('threshold', read.text('threshold', isNumber));
    set('cpu_nthread', read.text('cpu_nthread', isThreads));
    // These have no effect, but a wrong value is a mistake.
    read.text('layout', isLayout);
    for (const key of ['use_experimental_optimizations', 'xgboost_allow_unknown_field'])
      read.text(key, isFlag);
    return settings;
  },
};
