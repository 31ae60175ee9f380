/** Makes each kind of call once, in a process with frozen intrinsics. */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Datatype } from '../../../src/index.js';
import { addModel, failingModel } from '../../support/models.js';
import { writeRepository } from '../../support/repository.js';
import { configText, floats, identity, onnx, rejection, row } from '../../support/harness.js';

assert.ok(Object.isFrozen(Array.prototype), 'to be run with --frozen-intrinsics');

const copy = (datatype: Datatype, dims: readonly number[] = [4]): ReturnType<typeof identity> =>
  identity({ inputs: [{ name: 'x', datatype, dims }], outputs: [{ name: 'y', datatype, dims }] });
const folder = await mkdtemp(join(tmpdir(), 'tritonts-'));
const server = await createServer(
  await writeRepository(folder, {
    add: onnx(),
    completed: { versions: { '1': addModel() } },
    // The fast reader leaves a configuration of this form to the general one.
    unusual: {
      ...onnx(),
      config: `${configText()}\nparameters: < key: 'inline', value: < string_value: 'off' > >`,
    },
    bytes: copy('BYTES'),
    half: copy('FP16'),
    int64: copy('INT64'),
    large: copy('FP32', [100_000]),
    failing: onnx(failingModel(), {
      inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
      outputs: [{ name: 'value', dims: [1] }],
    }),
    slow: identity({ delayMs: 10_000 }),
  }),
  { modelControlMode: 'explicit', loadModels: ['*'], captureStacks: true },
);

for (const model of ['add', 'completed', 'unusual']) {
  const results = await Promise.all([0, 1, 2].map((x) => server.infer(model, { x: row(x) })));
  assert.deepEqual(
    results.map((result) => floats(result)[0]),
    [1, 2, 3],
  );
  assert.equal(floats(await server.infer(model, { x: [[...row()]] }))[15], 16);
}
const echo = async (model: string, x: readonly unknown[]): Promise<unknown> =>
  (await server.infer(model, { x: { data: x as number[], shape: [1, 4] } })).outputs['y']?.toArray();
assert.equal(String(await echo('bytes', ['a', '', 'ü', 'word'])), 'a,,ü,word');
assert.deepEqual(await echo('half', [0, 0.5, -1, 2]), [[0, 0.5, -1, 2]]);
assert.deepEqual(await echo('int64', [0n, 1n, -1n, 2n ** 62n]), [[0n, 1n, -1n, 2n ** 62n]]);
assert.equal(floats(await server.infer('large', { x: row(0, 100_000) }))[99_999], 99_999);
const sums: number[] = [];
for await (const result of server.model('add').map([0, 1, 2].map((x) => ({ x: row(x) }))))
  sums.push(floats(result)[0] ?? NaN);
assert.deepEqual(sums, [1, 2, 3]);

const wrong = await rejection(server.infer('add', { x: row(0, 3) }));
assert.deepEqual([wrong.name, wrong.code], ['TritonError', 'INVALID_ARG']);
const controller = new AbortController();
const waiting = rejection(server.infer('slow', { x: row() }, { signal: controller.signal }));
setImmediate(() => {
  controller.abort();
});
assert.equal((await waiting).code, 'CANCELLED');
const failed = await rejection(server.infer('failing', { index: BigInt64Array.of(1000n) }));
assert.equal(failed.code, 'INTERNAL');
assert.match(failed.stack ?? '', /frozen-intrinsics/);
const file = await rejection(
  server.loadModel('add', {
    config: { backend: 'onnxruntime' },
    files: { '1/model.onnx': new Uint8Array(9) },
  }),
);
assert.equal(file.code, 'INTERNAL');
assert.equal(server.model('add').statistics().inference_stats.fail.count, 0);
await server.unloadModel('half');
await server.close({ timeoutMs: 0 });
await rm(folder, { recursive: true });
console.log('done');
