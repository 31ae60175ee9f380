/** The parameters of tree models, and how their files are found. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileOfType, rules } from '../../../src/backends/fil/rules.js';
import type { RepositoryModel } from '../../support/repository.js';
import { floats, identity, rejection, serve, type Context } from '../../support/harness.js';
import { adds, executing } from '../../javascript/harness.js';
import {
  allRows,
  assertClose,
  treeModel,
  trees,
  withoutConfig,
  type TreeModel,
  type TreeOptions,
} from './answers.js';

const binary = treeModel('xgb_binary_json');
const classes = treeModel('xgb_softprob_ubj');

/** The answers to all rows of a model that is served with these options. */
async function answers(t: Context, model: TreeModel, options: TreeOptions): Promise<number[]> {
  const server = await serve(t, { m: trees(model, options) });
  const shape = [model.asked.length, model.features];
  return floats(await server.infer('m', { input__0: { data: allRows(model), shape } }), 'output__0');
}

/** Each row's values. */
function rowsOf(values: readonly number[], columns: number): number[][] {
  return Array.from({ length: values.length / columns }, (_, i) =>
    values.slice(i * columns, (i + 1) * columns),
  );
}

/** The largest value's index in each row. */
const classesOf = (values: readonly number[], columns: number): number[] =>
  rowsOf(values, columns).map((row) => row.indexOf(Math.max(...row)));

const classifier = { is_classifier: 'true' };
const probabilities = { ...classifier, predict_proba: 'true' };

test('a binary classifier compares the score with the threshold', async (t) => {
  const above = (threshold: number): number[] => binary.values.map((value) => (value > threshold ? 1 : 0));
  assert.deepEqual(await answers(t, binary, { parameters: classifier }), above(0.5));
  const strict = await answers(t, binary, { parameters: { ...classifier, threshold: '0.8' } });
  assert.deepEqual(strict, above(0.8));
  assert.notDeepEqual(above(0.5), above(0.8));
});

test('a score that is the threshold is not above it', async (t) => {
  const [score = 0] = binary.values;
  const same = Math.fround(score);
  const [label] = await answers(t, binary, { parameters: { ...classifier, threshold: String(same) } });
  assert.equal(label, 0);
});

test('predict_proba gives the probabilities of both classes, or of the second', async (t) => {
  const one = await answers(t, binary, { parameters: probabilities });
  assertClose(one, binary.values, 'one column');
  const two = await answers(t, binary, { parameters: probabilities, columns: 2 });
  assertClose(
    two,
    binary.values.flatMap((value) => [1 - value, value]),
    'two columns',
  );
});

test('a classifier of several classes gives the class, or all probabilities', async (t) => {
  for (const name of ['xgb_softprob_ubj', 'lgb_multiclass', 'tl_forest_multiclass']) {
    const model = treeModel(name);
    const labels = await answers(t, model, { parameters: classifier, columns: 1 });
    assert.deepEqual(labels, classesOf(model.values, model.columns), name);
    assertClose(await answers(t, model, { parameters: probabilities }), model.values, name);
  }
});

test('predict_proba gives the probabilities of a model that answers with a class', async (t) => {
  const model = treeModel('xgb_softmax_json');
  const { probabilities: expected = [], asked } = model;
  const columns = expected.length / asked.length;
  assert.equal(columns, 3);
  assertClose(await answers(t, model, { parameters: probabilities, columns }), expected, 'softmax');
  assertClose(await answers(t, model, { parameters: classifier }), model.values, 'softmax');
});

test('output_class is an older name of is_classifier, and is noted', async (t) => {
  const server = await serve(t, {
    older: trees(binary, { parameters: { output_class: 'true' } }),
    both: trees(binary, { parameters: { output_class: 'true', is_classifier: 'false' } }),
  });
  const [row] = binary.asked;
  assert.ok(row);
  const [score = 0] = binary.values;
  assert.deepEqual(floats(await server.infer('older', { input__0: row }), 'output__0'), [
    score > 0.5 ? 1 : 0,
  ]);
  assertClose(floats(await server.infer('both', { input__0: row }), 'output__0'), [score], 'both');
  assert.deepEqual(server.model('older').notes, [
    'parameters["output_class"]: an older name: write is_classifier',
  ]);
});

test('cpu_nthread changes nothing in the answers', async (t) => {
  for (const threads of [-1, 1, 2, 64])
    assertClose(await answers(t, classes, { parameters: { cpu_nthread: threads } }), classes.values, 'm');
});

test('parameters without effect are noted, those that the backend has removed among them', async (t) => {
  const parameters = {
    chunk_size: 16,
    layout: 'layered',
    use_experimental_optimizations: 'true',
    transfer_threshold: 4,
    xgboost_allow_unknown_field: 'false',
    algo: 'ALGO_AUTO',
    storage_type: 'AUTO',
    threads_per_tree: 1,
    blocks_per_sm: 0,
  };
  const server = await serve(t, { m: trees(binary, { parameters }) });
  assert.deepEqual(
    server.model('m').notes.map((note) => note.split(':')[0]),
    Object.keys(parameters).map((key) => `parameters["${key}"]`),
  );
  for (const note of server.model('m').notes) assert.match(note, /: accepted, without effect here: /);
  assert.match(server.model('m').notes.join('\n'), /"algo".*Triton has removed it in favour of layout/);
});

test('every parameter has a row, and an unknown one is noted with a near name', async (t) => {
  const server = await serve(t, { m: trees(binary, { parameters: { treshold: '0.3' } }) });
  assert.match(
    server.model('m').notes.join('\n'),
    /"treshold".* no such parameter \(did you mean threshold\?\)/,
  );
  assert.ok(Object.hasOwn(rules.parameters ?? {}, 'threshold'));
});

for (const [key, value, expected] of [
  ['is_classifier', 'yes', "expected 'true' or 'false' but received 'yes'"],
  ['predict_proba', '1', "expected 'true' or 'false' but received '1'"],
  ['output_class', 'True', "expected 'true' or 'false' but received 'True'"],
  ['threshold', 'half', "expected a number, such as 0.5 but received 'half'"],
  ['threshold', 'nan', "expected a number, such as 0.5 but received 'nan'"],
  ['threshold', '1e999', "expected a number, such as 0.5 but received '1e999'"],
  ['cpu_nthread', '0', 'expected -1 (the cores) or a number of threads from 1 to 1024'],
  ['cpu_nthread', '-2', 'expected -1 (the cores) or a number of threads from 1 to 1024'],
  ['cpu_nthread', '1.5', 'expected an integer but found "1.5"'],
  ['chunk_size', 'many', 'expected an integer but found "many"'],
  ['transfer_threshold', 'x', 'expected an integer but found "x"'],
  ['layout', 'sideways', "expected depth_first, breadth_first or layered but received 'sideways'"],
  ['use_experimental_optimizations', 'maybe', "expected 'true' or 'false' but received 'maybe'"],
  ['xgboost_allow_unknown_field', 'on', "expected 'true' or 'false' but received 'on'"],
] as const) {
  test(`${key} '${value}' is refused, with its line`, async (t) => {
    const error = await rejection(serve(t, { m: trees(binary, { parameters: { [key]: value } }) }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.equal(error.location?.field, `parameters["${key}"]`);
    const lines = trees(binary, { parameters: { [key]: value } }).config?.split('\n') ?? [];
    assert.equal(error.location.line, lines.findIndex((line) => line.includes(`"${key}"`)) + 1);
    assert.ok(error.message.includes(expected), error.message);
  });
}

test('an unknown model_type is unsupported, with its line and the formats', async (t) => {
  const error = await rejection(
    serve(t, { m: trees(binary, { parameters: { model_type: 'xgboost_jsn' } }) }),
  );
  assert.equal(error.code, 'UNSUPPORTED');
  assert.equal(error.location?.field, 'parameters["model_type"]');
  assert.match(
    error.message,
    /no such format of tree models: expected xgboost, .*treelite_checkpoint but received 'xgboost_jsn' \(did you mean xgboost_json\?\)/,
  );
});

test('each model_type has a file of its own, and the file is named that is missing', async (t) => {
  for (const [type, file] of Object.entries(fileOfType)) {
    const model: RepositoryModel = {
      config: trees({ ...binary, type }).config ?? '',
      versions: { '1': { 'other.bin': binary.content } },
    };
    const error = await rejection(serve(t, { m: model }));
    assert.match(error.message, new RegExp(`its file ${file.replace('.', '\\.')} is not there`));
  }
});

test('without model_type the file decides, and otherwise the type is xgboost', async (t) => {
  const config = (trees(binary).config ?? '').replace(/parameters .*model_type.*\n?/, '');
  assert.ok(!config.includes('model_type'));
  const server = await serve(t, { m: { config, versions: withoutConfig(binary).versions ?? {} } });
  assert.equal(server.model('m').config.default_model_filename, 'xgboost.json');
  const error = await rejection(serve(t, { m: { config, versions: { '1': { 'other.bin': '' } } } }));
  assert.match(error.message, /its file xgboost\.model is not there/);
});

test('a written file name is used with any type', async (t) => {
  const { config = '' } = trees(binary, { more: 'default_model_filename: "forest.bin"' });
  const server = await serve(t, { m: { config, versions: { '1': { 'forest.bin': binary.content } } } });
  const [row] = binary.asked;
  assert.ok(row);
  assertClose(
    floats(await server.infer('m', { input__0: row }), 'output__0'),
    binary.values.slice(0, 1),
    'm',
  );
});

test('model_type chooses among several files', async (t) => {
  const squared = treeModel('xgb_squarederror_json');
  const { config = '' } = trees(binary);
  const versions = { '1': { 'xgboost.model': 'x', 'xgboost.json': binary.content, 'model.txt': 'x' } };
  const server = await serve(t, { m: { config, versions } });
  assert.equal(server.model('m').config.default_model_filename, 'xgboost.json');
  assert.notDeepEqual(squared.values, binary.values);
});

test('a file that may be data of another model does not make it a tree model', async (t) => {
  const data = { 'model.txt': 'words', 'xgboost.json': '{}', 'checkpoint.tl': '' };
  const { config = '' } = identity();
  const server = await serve(t, {
    script: {
      config: config.replace('backend: "identity"', ''),
      versions: { '1': { ...data, 'model.mjs': executing(adds) } },
    },
    'named.identity': {
      config: config.replace('backend: "identity"', ''),
      versions: { '1': data },
    },
  });
  assert.equal(server.model('script').config.backend, 'javascript');
  assert.equal(server.model('named.identity').config.backend, 'identity');
});

test('trees run on the CPU: an instance on a GPU is refused, or placed there by the option', async (t) => {
  const { config = '', versions = {} } = trees(binary);
  const model = { config: config.replace('KIND_CPU', 'KIND_GPU'), versions };
  const error = await rejection(serve(t, { m: model }));
  assert.match(error.message, /instance_group\[0\]\.kind/);
  const server = await serve(t, { m: model }, { instanceKind: 'cpu' });
  assert.equal(server.model('m').config.instance_group[0]?.kind, 'KIND_CPU');
  const auto = { config: config.replace('KIND_CPU', 'KIND_AUTO'), versions };
  assert.equal((await serve(t, { m: auto })).model('m').config.instance_group[0]?.kind, 'KIND_CPU');
});

test('an output of another width is refused, with both sides', async (t) => {
  const error = await rejection(serve(t, { m: trees(classes, { columns: 4 }) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /output\[0\]\.dims: .*\[-1,3\].*Expected dims: \[ 3 \]/s);
});
