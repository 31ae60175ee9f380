/** `response_stats`: the outcomes of the k-th responses. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { InferenceServer, ModelStatistics } from '../../src/index.js';
import { asking as askingScript, counts, generating } from '../javascript/decoupled.js';
import { ensemble, identity, row, serve, statisticsAfter } from '../support/harness.js';
import { asking, readAll, streaming, upTo } from './harness.js';

const kinds = ['success', 'fail', 'empty_response', 'cancel', 'compute_infer', 'compute_output'] as const;
type Row = readonly [success: number, fail: number, empty: number, cancel: number];

/** The counts by response number, as rows of success, fail, empty_response and cancel. Checks the other sums. */
function rows({ response_stats: stats }: ModelStatistics): Row[] {
  assert.deepEqual(
    Object.keys(stats),
    upTo(Object.keys(stats).length).map((k) => String(k)),
  );
  return Object.values(stats).map((one) => {
    const [success, fail, empty, cancel, infer, output] = kinds.map((kind) => one[kind]);
    assert.ok(success && fail && empty && cancel && infer && output);
    assert.equal(infer.count, success.count + fail.count + empty.count);
    assert.equal(output.count, success.count + fail.count);
    assert.equal(infer.ns + output.ns, success.ns + fail.ns + empty.ns);
    return [success.count, fail.count, empty.count, cancel.count];
  });
}

const after = async (server: InferenceServer, requests: number): Promise<Row[]> =>
  rows(await statisticsAfter(server, 'm', requests));

void suite('a native model', () => {
  test('a last response, an end apart and an error are counted where they come', async (t) => {
    const server = await serve(t, { m: streaming() });
    const model = server.model('m');
    assert.deepEqual(rows(model.statistics()), []);
    await readAll(model.stream(asking(3)));
    assert.deepEqual(await after(server, 1), [
      [1, 0, 0, 0],
      [1, 0, 0, 0],
      [1, 0, 0, 0],
    ]);
    await readAll(model.stream(asking(1, 'apart')));
    await readAll(model.stream(asking(0, 'apart')));
    await readAll(model.stream(asking(2, 'fails')));
    assert.deepEqual(await after(server, 4), [
      [3, 0, 1, 0],
      [2, 0, 1, 0],
      [1, 1, 0, 0],
    ]);
  });

  test('the times of its responses are those of the request in the model', async (t) => {
    const server = await serve(t, { m: streaming() });
    await readAll(server.stream('m', asking(40, 'apart')));
    const { response_stats, inference_stats } = await statisticsAfter(server, 'm', 1);
    const all = Object.values(response_stats).map((one) => one.success.ns + one.empty_response.ns);
    assert.equal(
      all.reduce((sum, ns) => sum + ns, 0),
      inference_stats.compute_infer.ns + inference_stats.compute_output.ns,
    );
  });

  test('an error that is not final is a response', async (t) => {
    const server = await serve(t, { m: streaming() });
    await readAll(server.stream('m', asking(1, 'midst')));
    const [first] = await after(server, 1);
    assert.deepEqual(first, [0, 1, 0, 0]);
  });

  test('a cancelled request ends once, behind what it was sent', async (t) => {
    const server = await serve(t, { m: streaming() });
    for await (const result of server.stream('m', asking(3, 'open'))) {
      if (result.outputs['y']?.as('INT32').data[0] === 2) break;
    }
    assert.deepEqual(await after(server, 1), [
      [1, 0, 0, 0],
      [1, 0, 0, 0],
      [1, 0, 0, 0],
      [0, 0, 0, 1],
    ]);
  });

  test('a stream shows while it goes on', async (t) => {
    const server = await serve(t, { m: streaming() });
    const stream = server.stream('m', asking(2, 'open'))[Symbol.asyncIterator]();
    await stream.next();
    await stream.next();
    assert.deepEqual(rows(server.model('m').statistics()), [
      [1, 0, 0, 0],
      [1, 0, 0, 0],
    ]);
    await stream.return?.();
  });

  test('of a long stream the first 256 are counted', async (t) => {
    const server = await serve(t, { m: streaming() });
    await readAll(server.stream('m', asking(300, 'apart')));
    const counted = await after(server, 1);
    assert.equal(counted.length, 256);
    assert.ok(counted.every(([success, ...others]) => success === 1 && others.every((n) => n === 0)));
  });

  test('requests of a batch, and of several instances, are added up', async (t) => {
    const server = await serve(t, { m: streaming({ maxBatchSize: 4, batching: '', instances: 2 }) });
    const asked = upTo(40).map((k) => k % 5);
    await Promise.all(
      asked.map((count) => readAll(server.stream('m', { count: [[count]], how: [[1]], size: [[1]] }))),
    );
    assert.deepEqual(
      await after(server, 40),
      upTo(5).map((k): Row => [40 - 8 * (k + 1), 0, 8, 0]),
    );
  });

  test('a reload begins anew', async (t) => {
    const server = await serve(t, { m: streaming() }, { modelControlMode: 'explicit', loadModels: ['m'] });
    await readAll(server.stream('m', asking(2)));
    await server.unloadModel('m');
    await server.loadModel('m');
    assert.deepEqual(rows(server.model('m').statistics()), []);
  });
});

void suite('a model in JavaScript', () => {
  for (const kind of ['function*', 'async function*'] as const) {
    test(`the items of a ${kind} are responses, its end is empty`, async (t) => {
      const server = await serve(t, { m: generating(counts, kind) });
      await readAll(server.stream('m', askingScript(2)));
      await readAll(server.stream('m', askingScript(0)));
      assert.deepEqual(await after(server, 2), [
        [1, 0, 1, 0],
        [1, 0, 0, 0],
        [0, 0, 1, 0],
      ]);
    });
  }

  test('a throw is a failed response, with the time that it took', async (t) => {
    const body = `yield y(0); await sleep(20); throw new Error('no');`;
    const server = await serve(t, { m: generating(body) });
    await readAll(server.stream('m', askingScript(1)));
    const statistics = await statisticsAfter(server, 'm', 1);
    assert.deepEqual(rows(statistics), [
      [1, 0, 0, 0],
      [0, 1, 0, 0],
    ]);
    assert.ok((statistics.response_stats['1']?.compute_infer.ns ?? 0) >= 15e6);
    assert.equal(statistics.inference_stats.fail.count, 1);
  });
});

test('a model that is not decoupled, and an ensemble, have none', async (t) => {
  const one = { datatype: 'INT32', dims: [1] } as const;
  const server = await serve(t, {
    plain: identity(),
    many: generating(counts, 'function*', { outputs: [{ name: 'y', ...one }] }),
    e: ensemble([{ model: 'many', from: { count: 'count' }, to: { y: 'y' } }], {
      maxBatchSize: 4,
      inputs: [{ name: 'count', ...one }],
      outputs: [{ name: 'y', ...one }],
    }),
  });
  await server.infer('plain', { x: row() });
  await readAll(server.stream('e', askingScript(1)));
  assert.deepEqual((await statisticsAfter(server, 'plain', 1)).response_stats, {});
  assert.deepEqual((await statisticsAfter(server, 'e', 1)).response_stats, {});
  assert.deepEqual(rows(await statisticsAfter(server, 'many', 1)), [
    [1, 0, 0, 0],
    [0, 0, 1, 0],
  ]);
});
