/** Loads and unloads of models that depend on each other. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { checkRepository } from '../../src/registry/check-repository.js';
import {
  chain,
  configText,
  ensemble,
  floats,
  onnx,
  rejection,
  row,
  serve,
  start,
} from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const models = { a: onnx(), b: onnx(), e: ensemble(chain(['a', 'b'])), f: ensemble(chain(['e', 'a'])) };
const explicit = { modelControlMode: 'explicit' } as const;

void test('loading an ensemble loads the models that it needs', async (t) => {
  const server = await serve(t, models, explicit);
  await server.loadModel('f');
  assert.deepEqual(
    server.index({ ready: true }).map(({ name }) => name),
    ['a', 'b', 'e', 'f'],
  );
  assert.deepEqual(floats(await server.infer('f', { x: row() })), [...row(3)]);
});

void test('a start with an ensemble alone loads the models that it needs', async (t) => {
  const server = await serve(t, models, { ...explicit, loadModels: ['e'] });
  assert.deepEqual(
    server.index({ ready: true }).map(({ name }) => name),
    ['a', 'b', 'e'],
  );
});

void test('a model that an ensemble needs is not unloaded', async (t) => {
  const server = await serve(t, models, explicit);
  await server.loadModel('f');
  const error = await rejection(server.unloadModel('a'));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(
    error.message,
    /model 'a' cannot be unloaded: the ensembles 'e', 'f' need it; unload them first/,
  );
  assert.deepEqual(floats(await server.infer('f', { x: row() })), [...row(3)]);
  await server.unloadModel('f');
  await server.unloadModel('e');
  await server.unloadModel('a');
  assert.deepEqual(
    server.index({ ready: true }).map(({ name }) => name),
    ['b'],
  );
});

void test('unloadDependents unloads what was loaded for the ensemble alone', async (t) => {
  const server = await serve(t, models, explicit);
  await server.loadModel('b');
  await server.loadModel('f');
  await server.unloadModel('f', { unloadDependents: true });
  assert.deepEqual(
    server.index({ ready: true }).map(({ name }) => name),
    ['b'],
  );
});

void test('requests go on while a step is loaded again', async (t) => {
  const server = await serve(t, models, explicit);
  await server.loadModel('e');
  const traffic = { stop: false };
  let answered = 0;
  const sending = (async (): Promise<void> => {
    while (!traffic.stop) {
      const results = await Promise.all([0, 1, 2, 3].map((i) => server.infer('e', { x: row(i) })));
      results.forEach((result, i) => {
        assert.deepEqual(floats(result), [...row(i + 2)]);
      });
      answered += results.length;
    }
  })();
  for (let i = 0; i < 5; i++) {
    await server.loadModel(i % 2 === 0 ? 'a' : 'b', { config: { max_batch_size: 64 + i } });
  }
  traffic.stop = true;
  await sending;
  assert.ok(answered > 0);
});

void test('a step may be loaded again as a model in JavaScript, and back, while requests go on', async (t) => {
  const server = await serve(t, models, explicit);
  await server.loadModel('f');
  const traffic = { stop: false };
  const seen = new Set<number>();
  const sending = (async (): Promise<void> => {
    while (!traffic.stop) {
      const results = await Promise.all([0, 1, 2, 3].map((i) => server.infer('f', { x: row(i) })));
      // Each request uses one version of each step: the first adds 1, the reloaded one adds 2.
      for (const [i, result] of results.entries()) {
        const [first = 0] = floats(result);
        seen.add(first - i);
      }
    }
  })();
  const tensors = (name: string): { name: string; data_type: 'TYPE_FP32'; dims: number[] }[] => [
    { name, data_type: 'TYPE_FP32', dims: [16] },
  ];
  const config = { max_batch_size: 64, input: tensors('x'), output: tensors('y') };
  const text = `export default class {
    execute(requests) { return requests.map(({ inputs: { x } }) => ({ y: x.data.map((value) => value + 100) })); }
  }`;
  const file = join(await temporaryFolder(t), 'b.mjs');
  await writeFile(file, text);
  const module = pathToFileURL(file);
  for (let i = 0; i < 3; i++) {
    await server.loadModel('b', { config, module });
    assert.deepEqual(floats(await server.infer('f', { x: row() })), [...row(102)]);
    await server.loadModel('b', { config: { ...config, parameters: { round: { string_value: `${i}` } } } });
    assert.deepEqual(floats(await server.infer('f', { x: row() })), [...row(3)]);
  }
  traffic.stop = true;
  await sending;
  assert.deepEqual(
    [...seen].sort((a, b) => a - b).filter((sum) => sum !== 3 && sum !== 102),
    [],
  );
  assert.ok(seen.size > 0);
});

void test('an ensemble that a reloaded step no longer fits is served no more, and says why', async (t) => {
  const server = await serve(t, models, explicit);
  await server.loadModel('f');
  await server.loadModel('b', { config: { max_batch_size: 8 } });
  const error = await rejection(server.infer('e', { x: row() }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /model 'b' was loaded again: .*64 is more than the 8 of model 'b'/s);
  const outer = await rejection(server.infer('f', { x: row() }));
  assert.match(outer.message, /model 'e' is not loaded/);
  await server.loadModel('b', { config: { max_batch_size: 64 } });
  await server.loadModel('f');
  assert.deepEqual(floats(await server.infer('f', { x: row() })), [...row(3)]);
});

void test('a load that fails at a step leaves nothing LOADING', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    ...models,
    bad: { config: 'max_batchsize: 8', versions: { '1': {} } },
    of_bad: ensemble(chain(['a', 'bad'])),
    of_nobody: ensemble(chain(['a', 'nobody'])),
    of_itself: ensemble(chain(['a', 'of_itself'])),
    js: {
      config: configText({ backend: 'javascript', parameters: { requires: 'bad' } }),
      versions: { '1': { 'model.js': '' } },
    },
    // The first version of this model is valid.
    several: {
      config: configText({ more: 'version_policy { all { } }' }),
      versions: { '1': addModel(), '2': new Uint8Array(3) },
    },
  });
  const server = await start(t, folder, explicit);
  for (const name of ['bad', 'of_bad', 'of_nobody', 'of_itself', 'js', 'several']) {
    const error = await rejection(server.loadModel(name));
    const states = server.index().filter((one) => one.name === name);
    assert.ok(states.length > 0, name);
    for (const { state, reason } of states) {
      assert.equal(state, 'UNAVAILABLE', name);
      assert.ok(reason !== undefined && error.message.includes(reason), `${name}: ${reason ?? ''}`);
    }
    await server.unloadModel(name);
  }
  await server.unloadModel('a');
  await server.unloadModel('bad');
  assert.equal(server.ready, true);
});

void test('check tells what is wrong with an ensemble', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    ...models,
    wrong: ensemble(chain(['a', 'nobody'])),
    circle: ensemble(chain(['a', 'circle'])),
  });
  const checked = await checkRepository({ modelRepository: folder });
  const problems = Object.fromEntries(
    checked.map((model) => [model.name, model.problems.map(({ message }) => message).join('\n')]),
  );
  assert.equal(problems['e'], '');
  assert.equal(problems['f'], '');
  assert.match(problems['wrong'] ?? '', /no repository has a model 'nobody'/);
  assert.match(problems['circle'] ?? '', /a model cannot need itself: circle → circle/);
});

void test('ensembles that share their steps at many levels are loaded again without a pause', async (t) => {
  // There are 2^26 ways from the top to the bottom.
  const levels = Array.from({ length: 26 }, (_, level) => level);
  const shared = Object.fromEntries(
    levels.flatMap((level) =>
      ['a', 'b'].map((name) => [`${name}${level + 1}`, ensemble(chain([`a${level}`, `b${level}`]))]),
    ),
  );
  const top = ensemble(chain(['a26', 'b26']));
  const server = await serve(t, { a0: onnx(), b0: onnx(), ...shared, top }, explicit);
  await server.loadModel('top');
  assert.deepEqual(await server.loadModel('top', { force: true }), { changed: true });
});
