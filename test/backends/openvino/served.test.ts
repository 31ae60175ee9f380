/** Models of OpenVINO are served like any other: batches, ensembles, calls, warm-up, HTTP and gRPC. */

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
import { asked, assertAnswers, filesOf, needsOpenVino, openvino, recordedModel } from './models.js';

const perceptron = recordedModel('perceptron');
const double = recordedModel('double_FP32');

test('requests that arrive together run as one batch', needsOpenVino, async (t) => {
  const server = await serve(t, { m: await openvino(double, { parameters: { inline: 'off' } }) });
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

test('several instances and streams answer at once', needsOpenVino, async (t) => {
  const parameters = { inline: 'off', PERFORMANCE_HINT: 'throughput', NUM_STREAMS: 2 };
  const server = await serve(t, {
    streams: await openvino(double, { parameters }),
    instances: await openvino(double, { instances: 3, parameters: { inline: 'off' } }),
  });
  for (const name of ['streams', 'instances']) {
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) => server.infer(name, { x: row(round + i, 4) })),
      );
      answers.forEach((answer, i) => {
        assert.equal(floats(answer)[1], 2 * (round + i + 1));
      });
    }
  }
});

for (const protocol of protocols) {
  test(`a model of OpenVINO is called over ${protocol}`, needsOpenVino, async (t) => {
    const server = await serve(t, { m: await openvino(perceptron) });
    const remote = await connected(t, await addressOf(t, protocol, server));
    assertAnswers(await remote.infer('m', asked(perceptron)), perceptron.outputs, protocol);
  });
}

test('it is a step of an ensemble, and a model in JavaScript calls it', needsOpenVino, async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [4] }] };
  const server = await serve(t, {
    double: await openvino(double),
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

test('a warm-up runs before the first request, and metrics count what runs', needsOpenVino, async (t) => {
  const more =
    'model_warmup { name: "w" batch_size: 3 count: 2 inputs { key: "x" value ' +
    '{ data_type: TYPE_FP32 dims: [ 4 ] random_data: true } } }';
  const server = await serve(t, { m: await openvino(perceptron, { more }) });
  assertAnswers(await server.infer('m', asked(perceptron)), perceptron.outputs, 'm');
  await until(() => /^nv_inference_count\{model="m",version="1"\} 11$/m.test(server.metrics()));
});

test('runtimeInfo tells the library and its version', needsOpenVino, async (t) => {
  const server = await serve(t, { m: await openvino(perceptron) });
  const { library } = server.model('m').runtimeInfo();
  assert.match(library?.path ?? '', /openvino_c/);
  assert.match(library?.version ?? '', /^20\d\d\.\d+/);
});

test('a model is unloaded and loaded again, and reloaded with another file', needsOpenVino, async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { m: await openvino(double) });
  const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['m'] });
  for (let cycle = 0; cycle < 10; cycle++) {
    assert.equal(floats(await server.infer('m', { x: row(cycle, 4) }))[0], 2 * cycle);
    await server.unloadModel('m');
    assert.equal((await rejection(server.infer('m', { x: row(0, 4) }))).code, 'NOT_FOUND');
    await server.loadModel('m');
  }
  for (const [name, content] of Object.entries(await filesOf('identity.onnx')))
    await writeFile(join(folder, 'm', '1', name), content);
  await server.loadModel('m');
  assert.equal(floats(await server.infer('m', { x: row(3, 4) }))[0], 3);
});

test('requests run while the model is reloaded', needsOpenVino, async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { m: await openvino(double) });
  const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['m'] });
  let stop = false;
  const caller = async (_: unknown, i: number): Promise<void> => {
    while (!stop) assert.equal(floats(await server.infer('m', { x: row(i, 4) }))[0], 2 * i);
  };
  const callers = Promise.all(Array.from({ length: 8 }, caller));
  for (let cycle = 0; cycle < 5; cycle++) {
    const [name = '', content = ''] = Object.entries(await filesOf('double_FP32.onnx'))[0] ?? [];
    await writeFile(join(folder, 'm', '1', name), content);
    await server.loadModel('m');
  }
  stop = true;
  await callers;
});

test('the precision is that of FP32 unless the model wants BF16', needsOpenVino, async (t) => {
  const server = await serve(t, {
    m: await openvino(double),
    bf16: await openvino(double, { parameters: { HINT_BF16: 'yes' } }),
  });
  const value = 163.96875;
  const x = Float32Array.of(value, value, value, value);
  assert.equal(floats(await server.infer('m', { x }))[0], 2 * value);
  // On a processor without BF16 it is exact, too.
  const [half = 0] = floats(await server.infer('bf16', { x }));
  assert.ok(Math.abs(half - 2 * value) < 2, `${half}`);
});
