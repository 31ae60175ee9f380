/** Models in TorchScript are served like any other: batches, ensembles, calls, warm-up, HTTP and gRPC. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { addressOf, connected, protocols } from '../../client/harness.js';
import { calling } from '../../javascript/calls.js';
import { script } from '../../javascript/harness.js';
import {
  ensemble,
  floats,
  rejection,
  row,
  serve,
  start,
  statisticsAfter,
  until,
} from '../../support/harness.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { elements, fileOf, matrix, needsPyTorch, torch } from './models.js';

test('requests that arrive together run as one batch', needsPyTorch, async (t) => {
  const server = await serve(t, { m: await torch('twice', { parameters: { inline: 'off' } }) });
  const requests = 200;
  const answers = await Promise.all(
    Array.from({ length: requests }, (_, i) => server.infer('m', { x: row(i, 4) })),
  );
  answers.forEach((answer, i) => {
    assert.deepEqual(
      floats(answer),
      [...row(i, 4)].map((value) => 2 * value),
    );
  });
  const { inference_count, execution_count } = await statisticsAfter(server, 'm', requests);
  assert.equal(inference_count, requests);
  assert.ok(execution_count < requests / 4, `${execution_count} batches`);
});

test(
  'several instances answer at once, with modules of their own or a shared one',
  needsPyTorch,
  async (t) => {
    const parameters = { inline: 'off' };
    const server = await serve(t, {
      own: await torch('twice', { instances: 3, parameters }),
      shared: await torch('twice', {
        instances: 3,
        parameters: { ...parameters, ENABLE_WEIGHT_SHARING: 'ON' },
      }),
    });
    for (const name of ['own', 'shared']) {
      for (let round = 0; round < 20; round++) {
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, i) => server.infer(name, { x: row(round + i, 4) })),
        );
        answers.forEach((answer, i) => {
          assert.equal(floats(answer)[1], 2 * (round + i + 1));
        });
      }
    }
  },
);

for (const protocol of protocols) {
  test(`a model of PyTorch is called over ${protocol}`, needsPyTorch, async (t) => {
    const server = await serve(t, { m: await torch('in_place'), fails: await torch('fails') });
    const remote = await connected(t, await addressOf(t, protocol, server));
    for (let round = 0; round < 3; round++)
      assert.deepEqual(elements(await remote.infer('m', matrix('x', [[1, 2, 3]]))), [2, 3, 4]);
    const error = await rejection(remote.infer('fails', matrix('x', [[-1]])));
    assert.equal(error.code, 'INTERNAL');
    assert.match(error.message, /PyTorch execute failure: RuntimeError: AssertionError: negative: ä$/);
  });
}

test('it is a step of an ensemble, and a model in JavaScript calls it', needsPyTorch, async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [4] }] };
  const server = await serve(t, {
    twice: await torch('twice', tensors),
    // The output of a step is the input of the next one, which changes its input.
    in_place: await torch('in_place', tensors),
    both: ensemble(
      [
        { model: 'twice', from: { x: 'x' }, to: { y: 't' } },
        { model: 'in_place', from: { x: 't' }, to: { y: 'y' } },
      ],
      {
        ...tensors,
        outputs: [
          { name: 'y', dims: [4] },
          { name: 't', dims: [4] },
        ],
      },
    ),
    caller: script(
      calling(`const { outputs } = await server.infer('twice', { x: request.inputs.x });
               return { y: outputs.y };`),
      tensors,
    ),
  });
  const numbers = Array.from({ length: 10 }, (_, i) => i);
  const answers = await Promise.all(numbers.map((i) => server.infer('both', { x: row(i, 4) })));
  answers.forEach((answer, i) => {
    assert.deepEqual(
      elements(answer),
      [...row(i, 4)].map((value) => 2 * value + 1),
    );
    assert.deepEqual(
      elements(answer, 't'),
      [...row(i, 4)].map((value) => 2 * value),
    );
  });
  const called = await Promise.all(numbers.map((i) => server.infer('caller', { x: row(i, 4) })));
  called.forEach((answer, i) => {
    assert.deepEqual(
      elements(answer),
      [...row(i, 4)].map((value) => 2 * value),
    );
  });
});

test('a warm-up runs before the first request, and metrics count what runs', needsPyTorch, async (t) => {
  const more =
    'model_warmup { name: "w" batch_size: 3 count: 2 inputs { key: "x" value ' +
    '{ data_type: TYPE_FP32 dims: [ 4 ] random_data: true } } }';
  const server = await serve(t, { m: await torch('twice', { more }) });
  assert.deepEqual(elements(await server.infer('m', matrix('x', [[1], [2]]))), [2, 4]);
  await until(() => /^nv_inference_count\{model="m",version="1"\} 8$/m.test(server.metrics()));
});

test('runtimeInfo tells the library, its version and the threads', needsPyTorch, async (t) => {
  const server = await serve(t, { m: await torch('twice') });
  const { library, intraOpThreads } = server.model('m').runtimeInfo();
  assert.match(library?.path ?? '', /libtorch_cpu/);
  assert.match(library?.version ?? '', /^\d+\.\d+\.\d+/);
  assert.ok(intraOpThreads >= 1);
});

test('a model is unloaded and loaded again, and reloaded with another file', needsPyTorch, async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { m: await torch('twice') });
  const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['m'] });
  for (let cycle = 0; cycle < 10; cycle++) {
    assert.equal(floats(await server.infer('m', { x: row(cycle, 4) }))[0], 2 * cycle);
    await server.unloadModel('m');
    assert.equal((await rejection(server.infer('m', { x: row(0, 4) }))).code, 'NOT_FOUND');
    await server.loadModel('m');
  }
  for (const [name, content] of Object.entries(await fileOf('in_place')))
    await writeFile(join(folder, 'm', '1', name), content);
  await server.loadModel('m');
  assert.equal(floats(await server.infer('m', { x: row(3, 4) }))[0], 4);
});

test('a model with platform pytorch_libtorch, and none without a configuration', needsPyTorch, async (t) => {
  const { config = '', versions = {} } = await torch('twice');
  const server = await serve(t, {
    m: { config: config.replace('backend: "pytorch"', 'platform: "pytorch_libtorch"'), versions },
  });
  assert.deepEqual(elements(await server.infer('m', matrix('x', [[4]]))), [8]);
  assert.equal(server.model('m').config.backend, 'pytorch');
  const error = await rejection(serve(t, { m: { versions } }));
  assert.match(error.message, /input: missing.*output: missing/s);
});

test('files are given as bytes', needsPyTorch, async (t) => {
  const server = await serve(
    t,
    { good: await torch('twice') },
    { modelControlMode: 'explicit', loadModels: ['good'] },
  );
  const config = JSON.stringify({
    backend: 'pytorch',
    max_batch_size: 0,
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [-1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [-1] }],
    instance_group: [{ kind: 'KIND_CPU', count: 2 }],
  });
  const files = { '1/model.pt': (await fileOf('twice'))['model.pt'] as Uint8Array };
  await server.loadModel('given', { config, files });
  assert.deepEqual(elements(await server.infer('given', { x: { data: [3], shape: [1] } })), [6]);
});
