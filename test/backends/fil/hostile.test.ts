/** Files that are no tree models, or are damaged: coded errors that name the model, and nothing else. */
// Own process: it measures the peak of the memory.
// Long: it plays many random cases.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createServer, type InferenceServer, type TritonError } from '../../../src/index.js';
import { addModel } from '../../support/models.js';
import { chainModel, stumpModel } from '../../support/models/stump.js';
import { temporaryFolder } from '../../support/repository.js';
import { rejection, serve } from '../../support/harness.js';
import { allRows, treeModel, treeModels, type TreeModel } from './answers.js';
import { fileOfType } from '../../../src/backends/fil/rules.js';

/** Loads bytes as a model of a format. */
async function load(server: InferenceServer, type: string, content: Uint8Array): Promise<void> {
  const file = fileOfType[type] ?? '';
  const parameters = { model_type: { string_value: type } };
  await server.loadModel('m', { config: { backend: 'fil', parameters }, files: { [file]: content } });
}

async function refusal(server: InferenceServer, type: string, content: Uint8Array): Promise<TritonError> {
  const error = await rejection(load(server, type, content));
  assert.ok(
    ['INVALID_ARG', 'UNSUPPORTED', 'INTERNAL'].includes(error.code),
    `${error.code} ${error.message}`,
  );
  assert.match(error.message, /model 'm'/);
  return error;
}

const bytes = (text: string): Uint8Array => Buffer.from(text);
// Without a log: reloads that fail are warned of.
const explicit = { modelControlMode: 'explicit', logger: {} } as const;

test('a file that was cut off is refused at every length', async (t) => {
  const server = await serve(t, {}, explicit);
  for (const { type, content } of treeModels) {
    // What follows the trees of LightGBM is not needed.
    const end = Buffer.from(content).indexOf('end of trees');
    const length = end < 0 ? content.length : end;
    for (const share of [0.02, 0.3, 0.6, 0.9, 0.99])
      await refusal(server, type, content.subarray(0, Math.floor(length * share)));
  }
});

test('a file with damaged bytes is refused, or loads and answers', async (t) => {
  const server = await serve(t, {}, explicit);
  let state = 12345;
  const random = (below: number): number => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state % below;
  };
  const ask = async (model: TreeModel): Promise<void> => {
    const width = server.model('m').config.input[0]?.dims[0] ?? 0;
    if (width < 1 || width > 1000) return;
    await server.infer('m', { input__0: { data: new Float32Array(3 * width), shape: [3, width] } });
    assert.ok(allRows(model).length > 0);
  };
  for (const model of treeModels) {
    for (let round = 0; round < 4; round++) {
      const damaged = Uint8Array.from(model.content);
      for (let change = 0; change <= round; change++) damaged[random(damaged.length)] = random(256);
      try {
        await load(server, model.type, damaged);
      } catch {
        continue;
      }
      await ask(model);
    }
  }
});

for (const type of Object.keys(fileOfType)) {
  test(`what is no model at all is refused as ${type}, and said`, async (t) => {
    const server = await serve(t, {}, explicit);
    const file = (fileOfType[type] ?? '').replace('.', '\\.');
    for (const [content, text] of [
      [bytes(''), new RegExp(`'${file}' is empty`)],
      [bytes('<!DOCTYPE html><html></html>'), new RegExp(`'${file}' is a web page`)],
      [
        bytes('version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n'),
        new RegExp(`'${file}' is a Git LFS pointer`),
      ],
      [bytes('hello, this is a text\n'.repeat(10)), /expected/],
      [new Uint8Array(4096), /expected/],
      [addModel(), /expected/],
    ] as const) {
      assert.match((await refusal(server, type, content)).message, text);
    }
  });
}

test('a model of another format is refused', async (t) => {
  const server = await serve(t, {}, explicit);
  const one = new Map(treeModels.map((model) => [model.type, model]));
  for (const { type, content } of one.values()) {
    for (const other of Object.keys(fileOfType)) {
      if (other !== type) assert.match((await refusal(server, other, content)).message, /expected/);
    }
  }
});

test('a child, a feature and a category outside of the model are refused', async (t) => {
  const server = await serve(t, {}, explicit);
  const { content, type } = treeModel('xgb_squarederror_json');
  const text = Buffer.from(content).toString();
  for (const [pattern, to] of [
    [/"left_children":\[1/, '"left_children":[99999'],
    [/"left_children":\[1/, '"left_children":[0'],
    [/"split_indices":\[\d+/, '"split_indices":[6'],
    [/"num_nodes":"\d+"/, '"num_nodes":"4000000000"'],
    [/"num_feature":"6","num_target"/, '"num_feature":"-6","num_target"'],
    [/"num_feature":"6","num_target"/, '"num_feature":"4","num_target"'],
  ] as const) {
    assert.match(text, pattern);
    await refusal(server, type, bytes(text.replace(pattern, to)));
  }
});

test('a small file that names very many features takes no memory for them', async (t) => {
  const server = await serve(t, {}, explicit);
  const before = process.resourceUsage().maxRSS;
  await load(server, 'xgboost_json', stumpModel(2 ** 31 - 2));
  const kilobytes = process.resourceUsage().maxRSS - before;
  assert.ok(kilobytes < 200_000, `${kilobytes} kB for a file of 1 kB`);
  assert.deepEqual(server.model('m').config.input[0]?.dims, [2 ** 31 - 2]);
});

test('a folder in the place of the file is named', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'm', '1', 'xgboost.json'), { recursive: true });
  await writeFile(
    join(folder, 'm', 'config.pbtxt'),
    'backend: "fil" parameters { key: "model_type" value { string_value: "xgboost_json" } }',
  );
  const error = await rejection(createServer(folder, { logger: {} }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /expected the model's file, but '.*xgboost\.json' is a folder/);
});

test('an unknown model_type of files in memory is UNSUPPORTED, as from a folder', async (t) => {
  const server = await serve(t, {}, explicit);
  const parameters = { model_type: { string_value: 'XGBOOST_JSON' } };
  const files = { 'xgboost.json': stumpModel(2) };
  const error = await rejection(server.loadModel('m', { config: { backend: 'fil', parameters }, files }));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /'XGBOOST_JSON'.*did you mean xgboost_json\?/);
});

test('a long batch ends soon after its server asked it to', async (t) => {
  const server = await serve(t, {}, explicit);
  await load(server, 'xgboost_json', chainModel(100, 5000));
  const rows = 32_768;
  const infer = rejection(
    server.infer('m', { input__0: { data: new Float32Array(rows), shape: [rows, 1] } }),
  );
  await setTimeout(100);
  // It would reject if the run had to be abandoned.
  await server.close({ timeoutMs: 100 });
  assert.equal((await infer).code, 'CANCELLED');
});
