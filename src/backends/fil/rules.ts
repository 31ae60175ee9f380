/** The rules for configurations of tree models: the files of each format, and their parameters. */

import { parameterRow, type BackendRules, type ParameterSupport } from '../../config/index.js';

/** The default file of each format, by the value of `model_type`. The first format is Triton's default. */
export const fileOfType: Readonly<Record<string, string>> = {
  xgboost: 'xgboost.model',
  xgboost_json: 'xgboost.json',
  xgboost_ubj: 'xgboost.ubj',
  lightgbm: 'model.txt',
  treelite_checkpoint: 'checkpoint.tl',
};

/** A parameter of older versions of Triton's backend. */
const removed = (instead: string): ParameterSupport =>
  parameterRow('hint', `Triton has removed it${instead === '' ? '' : ` in favour of ${instead}`}`);

/** The rules of this backend. */
export const rules: BackendRules = {
  files: Object.entries(fileOfType).map(([value, filename]) => ({
    filename,
    entry: 'file',
    platforms: [],
    parameter: { key: 'model_type', value },
    mayBeData: true,
  })),
  parameters: {
    model_type: parameterRow(
      'acted',
      'the format: xgboost (the binary format of XGBoost before 3.1), xgboost_json, xgboost_ubj, lightgbm or treelite_checkpoint; default: that of the file with a known name, otherwise xgboost',
    ),
    is_classifier: parameterRow('acted', 'true: the output is a class; default: false'),
    predict_proba: parameterRow(
      'acted',
      'true, for classifiers: the output has the probabilities of the classes; default: false',
    ),
    threshold: parameterRow(
      'acted',
      'classifiers with one score: above this score the class is 1; default: 0.5',
    ),
    output_class: parameterRow('acted', 'the older name of is_classifier, which takes precedence', {
      note: 'an older name: write is_classifier',
    }),
    cpu_nthread: parameterRow('acted', 'most threads that run a batch; default: -1, the cores', {
      integer: true,
    }),
    chunk_size: parameterRow(
      'hint',
      'how many rows Triton runs together; this server chooses the rows by itself',
      { integer: true },
    ),
    layout: parameterRow('hint', "the order of Triton's nodes in memory; this server has its own order"),
    use_experimental_optimizations: parameterRow(
      'hint',
      "chooses among Triton's evaluators; this server has one",
    ),
    transfer_threshold: parameterRow('hint', 'for instances on GPUs; trees run on the CPU', {
      integer: true,
    }),
    xgboost_allow_unknown_field: parameterRow('hint', 'unknown fields of a model are skipped anyway', {
      neutral: ['true'],
    }),
    algo: removed('layout'),
    storage_type: removed(''),
    threads_per_tree: removed('chunk_size'),
    blocks_per_sm: removed(''),
  },
};
