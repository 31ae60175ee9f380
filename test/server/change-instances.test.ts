/** Loads that change only instance_group: the instances come and go, and requests and sequences go on. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InferenceServer, TensorInput } from '../../src/index.js';
import {
  configText,
  floats,
  identity,
  rejection,
  row,
  start,
  until,
  type Context,
} from '../support/harness.js';
import { runningSum } from '../support/models/sequences.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const x = (value: number): { readonly x: TensorInput } => ({ x: { data: [value, value], shape: [1, 2] } });

/** The configuration of a running sum with so many instances, which have one slot each. */
function sumConfig(instances: number, more = ''): string {
  return configText({
    inputs: [{ name: 'x', dims: [2] }],
    outputs: [{ name: 'y', dims: [2] }],
    maxBatchSize: 1,
    batching: false,
    instances,
    more: `sequence_batching { max_sequence_idle_microseconds: 60000000 ${more}
  state { input_name: "sum" output_name: "next" data_type: TYPE_FP32 dims: [ 2 ] } }`,
  });
}

interface Served {
  readonly server: InferenceServer;
  /** Writes config.pbtxt and loads the model. */
  readonly change: (config: string) => Promise<void>;
}

async function serveSum(t: Context, config: string): Promise<Served> {
  const repository = await writeRepository(await temporaryFolder(t), {
    sum: { config, versions: { '1': runningSum(true) } },
  });
  const server = await start(t, repository, { modelControlMode: 'explicit', loadModels: ['sum'] });
  const change = async (text: string): Promise<void> => {
    await writeFile(join(repository, 'sum', 'config.pbtxt'), text);
    await server.loadModel('sum');
  };
  return { server, change };
}

/** The slots, when so many are left. */
async function untilSlots(server: InferenceServer, slots: number): Promise<void> {
  await until(() => server.explain('sum').sequences?.slots === slots);
}

test('live sequences go on with their states, and new instances serve the backlog', async (t) => {
  const { server, change } = await serveSum(t, sumConfig(1));
  const model = server.model('sum');
  const [one, two] = [model.sequence(), model.sequence()];
  assert.deepEqual(floats(await one.infer(x(1))), [1, 1]);
  const waits = two.infer(x(10));
  await until(() => server.explain('sum').sequences?.backlog === 1);
  await change(sumConfig(2));
  assert.deepEqual(floats(await waits), [10, 10]);
  assert.deepEqual(floats(await one.infer(x(2))), [3, 3]);
  assert.equal(server.explain('sum').sequences?.slots, 2);
  assert.deepEqual(
    model.runtimeInfo().instances.map(({ name }) => name),
    ['sum_0_0', 'sum_0_1'],
  );
  assert.equal(model.config.instance_group[0]?.count, 2);
  // Statistics count on: the version is the same.
  assert.equal(model.statistics().inference_count, 3);

  // One instance goes, and the sequences of both go on.
  await change(sumConfig(1));
  assert.deepEqual(floats(await one.infer(x(3))), [6, 6]);
  assert.deepEqual(floats(await two.infer(x(20))), [30, 30]);
  await Promise.all([one.end(x(0)), two.end(x(0))]);
  await untilSlots(server, 1);
  await using third = model.sequence();
  assert.deepEqual(floats(await third.end(x(5))), [5, 5]);
});

test('instances of another group replace those that differ, again and again', async (t) => {
  const { server, change } = await serveSum(t, sumConfig(2));
  const model = server.model('sum');
  for (let round = 0; round < 6; round++) {
    await using sequence = model.sequence();
    await sequence.infer(x(1));
    // Another name and count do not make another instance, but what it needs does.
    const group = `{ name: "group${round}" rate_limiter { priority: ${round + 1} }`;
    await change(sumConfig(1 + (round % 3)).replace('instance_group [ {', `instance_group [ ${group}`));
    assert.deepEqual(floats(await sequence.end(x(1))), [2, 2]);
    await untilSlots(server, 1 + (round % 3));
  }
  assert.equal(model.statistics().inference_count, 12);
});

test('a configuration that is given to loadModel changes instances, too', async (t) => {
  const { server } = await serveSum(t, sumConfig(1));
  const model = server.model('sum');
  await using sequence = model.sequence();
  await sequence.infer(x(1));
  const { config } = model;
  await server.loadModel('sum', {
    config: { ...config, instance_group: [{ count: 3, kind: 'KIND_CPU' }] },
  });
  assert.equal(server.explain('sum').sequences?.slots, 3);
  assert.deepEqual(floats(await sequence.end(x(1))), [2, 2]);
});

test('another change loads the model again, and its sequences end', async (t) => {
  const { server, change } = await serveSum(t, sumConfig(1));
  const model = server.model('sum');
  await using sequence = model.sequence();
  await sequence.infer(x(1));
  await change(sumConfig(2, 'oldest { max_candidate_sequences: 1 }'));
  const error = await rejection(sequence.infer(x(1)));
  assert.match(error.message, /the model was reloaded/);
  // It is the origin of the next change.
  await using next = model.sequence();
  await next.infer(x(1));
  await change(sumConfig(1, 'oldest { max_candidate_sequences: 1 }'));
  assert.deepEqual(floats(await next.end(x(1))), [2, 2]);
});

test('no request without a sequence fails while instances come and go', async (t) => {
  const model = (instances: number): ReturnType<typeof identity> => identity({ delayMs: 1, instances });
  const repository = await writeRepository(await temporaryFolder(t), { m: model(1) });
  const server = await start(t, repository, { modelControlMode: 'explicit', loadModels: ['m'] });
  let isOver = false;
  let answered = 0;
  const call = async (): Promise<void> => {
    while (!isOver) {
      await server.infer('m', { x: row() });
      answered++;
    }
  };
  const calls = Promise.all(Array.from({ length: 8 }, call));
  for (const instances of [3, 1, 2, 4, 1]) {
    await writeRepository(repository, { m: model(instances) });
    await server.loadModel('m');
    const before = answered;
    await until(() => server.explain('m').instances.count === instances && answered > before + 20);
  }
  isOver = true;
  await calls;
  assert.equal(server.model('m').statistics().inference_count, answered);
});
