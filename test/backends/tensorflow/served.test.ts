/** Models of TensorFlow are served like any other: batches, ensembles, calls, warm-up, HTTP and gRPC. */

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
import { asked, assertAnswers, filesOf, needsTensorFlow, recordedModel, tensorflow } from './models.js';

const perceptron = recordedModel('perceptron');
const double = recordedModel('double_FP32');
const text = recordedModel('text');

test('requests that arrive together run as one batch', needsTensorFlow, async (t) => {
  const server = await serve(t, { m: await tensorflow(double, { parameters: { inline: 'off' } }) });
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

test('several instances answer at once, with one session and with several', needsTensorFlow, async (t) => {
  const server = await serve(t, {
    shared: await tensorflow(double, {
      ...{ instances: 3, parameters: { inline: 'off', MAX_SESSION_SHARE_COUNT: 3 } },
    }),
    own: await tensorflow(double, { instances: 3, parameters: { inline: 'off' } }),
    threads: await tensorflow(double, {
      instances: 2,
      parameters: {
        inline: 'off',
        TF_USE_PER_SESSION_THREADS: 'on',
        TF_NUM_INTRA_THREADS: 2,
        TF_NUM_INTER_THREADS: 2,
      },
    }),
  });
  for (const name of ['shared', 'own', 'threads']) {
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) => server.infer(name, { x: row(round + i, 4) })),
      );
      answers.forEach((answer, i) => {
        assert.equal(floats(answer)[1], 2 * (round + i + 1), name);
      });
    }
  }
});

for (const protocol of protocols) {
  test(`models of TensorFlow are called over ${protocol}`, needsTensorFlow, async (t) => {
    const server = await serve(t, { m: await tensorflow(perceptron), text: await tensorflow(text) });
    const remote = await connected(t, await addressOf(t, protocol, server));
    assertAnswers(await remote.infer('m', asked(perceptron)), perceptron.outputs, protocol);
    assertAnswers(await remote.infer('text', asked(text)), text.outputs, protocol);
  });
}

test('it is a step of an ensemble, and a model in JavaScript calls it', needsTensorFlow, async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [4] }] };
  const server = await serve(t, {
    double: await tensorflow(double),
    four_times: ensemble(
      [
        { model: 'double', from: { x: 'x' }, to: { y: 't' } },
        { model: 'double', from: { x: 't' }, to: { y: 'y' } },
      ],
      tensors,
    ),
    caller: script(
      calling(`const { outputs } = await server.infer('double', { x: request.inputs.x });
               return { y: outputs.y };`),
      tensors,
    ),
  });
  for (const [name, factor] of [
    ['four_times', 4],
    ['caller', 2],
  ] as const) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => server.infer(name, { x: row(i, 4) })),
    );
    answers.forEach((answer, i) => {
      assert.deepEqual(
        floats(answer),
        [...row(i, 4)].map((value) => factor * value),
        name,
      );
    });
  }
});

test('a warm-up runs before the first request, and metrics count what runs', needsTensorFlow, async (t) => {
  const more =
    'model_warmup { name: "w" batch_size: 3 count: 2 inputs { key: "x" value ' +
    '{ data_type: TYPE_FP32 dims: [ 4 ] random_data: true } } }';
  const server = await serve(t, { m: await tensorflow(perceptron, { more }) });
  assertAnswers(await server.infer('m', asked(perceptron)), perceptron.outputs, 'm');
  await until(() => /^nv_inference_count\{model="m",version="1"\} 11$/m.test(server.metrics()));
});

test('runtimeInfo tells the library and its version', needsTensorFlow, async (t) => {
  const server = await serve(t, { m: await tensorflow(perceptron) });
  const { library } = server.model('m').runtimeInfo();
  assert.match(library?.path ?? '', /libtensorflow/);
  assert.match(library?.version ?? '', /^2\.\d+/);
});

test('a model is unloaded and loaded again, and reloaded with other files', needsTensorFlow, async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { m: await tensorflow(double) });
  const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['m'] });
  for (let cycle = 0; cycle < 10; cycle++) {
    assert.equal(floats(await server.infer('m', { x: row(cycle, 4) }))[0], 2 * cycle);
    await server.unloadModel('m');
    assert.equal((await rejection(server.infer('m', { x: row(0, 4) }))).code, 'NOT_FOUND');
    await server.loadModel('m');
  }
  for (const [name, content] of Object.entries(await filesOf('tags.savedmodel')))
    await writeFile(join(folder, 'm', '1', name), content);
  await server.loadModel('m');
  assert.equal(floats(await server.infer('m', { x: row(3, 4) }))[0], 4);
});

test('requests run while the model is reloaded', needsTensorFlow, async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { m: await tensorflow(double) });
  const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['m'] });
  let stop = false;
  const caller = async (_: unknown, i: number): Promise<void> => {
    while (!stop) assert.equal(floats(await server.infer('m', { x: row(i, 4) }))[0], 2 * i);
  };
  const callers = Promise.all(Array.from({ length: 8 }, caller));
  for (let cycle = 0; cycle < 5; cycle++) {
    for (const [name, content] of Object.entries(await filesOf(double.file)))
      await writeFile(join(folder, 'm', '1', name), content);
    await server.loadModel('m');
  }
  stop = true;
  await callers;
});
