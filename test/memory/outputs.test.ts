// Long: it moves much data.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { gate, held } from '../faults/harness.js';
import { anyLength, floats, onnx, row, serve } from '../support/harness.js';
import { identityModel } from '../support/models.js';
import { skipMemory } from '../support/sanitizer.js';
import { echo, runMemory, sizes } from './harness.js';

for (const [size, width] of Object.entries(sizes)) {
  test(`a ${size} output outlives its server, unharmed by what runs afterwards`, async (t) => {
    const first = await serve(t, { echo: echo() });
    const kept = await Promise.all([1, 2, 3].map((i) => first.infer('echo', { x: row(i, width) })));
    await first.close();
    const second = await serve(t, { echo: echo() });
    await Promise.all([7, 8, 9, 10].map((i) => second.infer('echo', { x: row(i, width) })));
    for (const [i, result] of kept.entries()) assert.deepEqual(result.outputs['y']?.data, row(i + 1, width));
  });

  for (const ownOutputs of [false, true]) {
    test(`a ${size} output that a worker sends outlives the worker: ownOutputs is ${ownOutputs}`, async (t) => {
      const server = await serve(t, { echo: echo() });
      const worker = new Worker(new URL('workers/sender.js', import.meta.url), {
        workerData: { handle: server.handle, width, ownOutputs },
      });
      const ended = once(worker, 'exit');
      const [data] = (await once(worker, 'message')) as [Float32Array];
      await ended;
      await Promise.all([7, 8, 9].map((i) => server.infer('echo', { x: row(i, width) })));
      assert.deepEqual(data, row(5, width));
    });
  }

  test(`${size} outputs of one run share no memory`, async (t) => {
    const server = await serve(t, {
      echo: onnx(identityModel('FP32', ['N', -1]), {
        ...anyLength,
      }),
    });
    const results = await Promise.all([1, 2, 3, 4].map((i) => server.infer('echo', { x: row(i, width) })));
    const arrays = results.map((result) => result.outputs['y']?.as('FP32').data ?? new Float32Array());
    for (const array of arrays) assert.equal(array.buffer.byteLength, width * 4);
    arrays[0]?.fill(-1);
    assert.deepEqual(arrays[1], row(2, width));
  });
}

void suite('tensors without elements', () => {
  for (const batching of [true, false]) {
    test(`come back as such: the model batches: ${batching}`, async (t) => {
      const server = await serve(t, {
        echo: onnx(identityModel('FP32', ['N', 'L']), {
          ...anyLength,
          ...(batching ? {} : { batching: false }),
        }),
      });
      const empty = { data: new Float32Array(0), shape: [2, 0] };
      const results = await Promise.all([
        server.infer('echo', { x: row(1, 3) }),
        server.infer('echo', { x: empty }),
        server.infer('echo', { x: empty }),
        server.infer('echo', { x: row(2, 3) }),
      ]);
      assert.deepEqual(
        results.map((result) => [result.outputs['y']?.shape, floats(result)]),
        [
          [
            [1, 3],
            [1, 2, 3],
          ],
          [[2, 0], []],
          [[2, 0], []],
          [
            [1, 3],
            [2, 3, 4],
          ],
        ],
      );
    });
  }
});

test('tensors of 100 MB go in and come out', async (t) => {
  const { code, stdout, stderr } = await runMemory(t, 'huge', []);
  assert.deepEqual([code, stdout, stderr], [0, 'ready\nright\nright\nright\n', '']);
});

test(
  'of 2 GB of results that nobody reads no more than 400 MB are there at once',
  { skip: skipMemory },
  async (t) => {
    const { code, stdout, stderr } = await runMemory(t, 'dropped', ['3400', '150000']);
    assert.deepEqual([code, stderr], [0, '']);
    const grown = Number(/grown (\d+) MB/.exec(stdout)?.[1]);
    assert.ok(grown < 400, stdout);
  },
);

// The bound is the inputs, twice the outputs, because the engine keeps its pages, and 4 KiB for each request.
// Without external buffers there is one more copy of the outputs.
const copies = process.env['TRITONTS_NO_EXTERNAL_BUFFERS'] === '1' ? 4 : 3;
for (const bytes of [64, 4096]) {
  const most = Math.ceil((10_000 * (copies * bytes + 4096)) / 1e6);
  test(`10,000 requests of ${bytes} bytes take at most ${most} MB`, { skip: skipMemory }, async (t) => {
    const closed = await gate(t);
    const models = { echo: echo(), held: held(closed, { ...anyLength, maxBatchSize: 10_000 }) };
    const args = ['10000', String(bytes / 4), closed.parameters.release_file];
    const { code, stdout, stderr } = await runMemory(t, 'many', args, models, { flags: ['--expose-gc'] });
    assert.deepEqual([code, stderr], [0, ''], stdout);
    assert.match(stdout, /^10000 in flight\n[^]*\n10000 right\n$/);
    for (const what of ['in flight', 'answered']) {
      const grown = Number(new RegExp(`^${what}: (-?\\d+) MB$`, 'm').exec(stdout)?.[1]);
      assert.ok(grown < most, stdout);
    }
    t.diagnostic(stdout.replaceAll('\n', ', '));
  });
}
