/** `infer(inputs, { into })` writes outputs to the caller's arrays. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addModel } from '../support/models.js';
import { identity, onnx, rejection, row, serve } from '../support/harness.js';

for (const inline of ['auto', 'off'] as const) {
  test(`outputs are written to the arrays given, with inline ${inline}`, async (t) => {
    const server = await serve(t, { add: onnx(addModel(), { maxBatchSize: 8 }) }, { inline });
    for (let round = 0; round < 20; round++) {
      const targets = Array.from({ length: 12 }, () => new Float32Array(16));
      const results = await Promise.all(
        targets.map((y, i) => server.infer('add', { x: row(i) }, i % 3 === 2 ? {} : { into: { y } })),
      );
      for (const [i, { outputs }] of results.entries()) {
        assert.deepEqual(outputs['y']?.data, row(i + 1));
        assert.deepEqual(outputs['y'].shape, [1, 16]);
        if (i % 3 === 2) assert.deepEqual(targets[i], new Float32Array(16));
        else assert.equal(outputs['y'].data, targets[i]);
      }
    }
  });
}

test('a part of a buffer is written, and no more than that', async (t) => {
  const server = await serve(t, { echo: identity() });
  const all = new Float32Array(48).fill(-1);
  await server.infer('echo', { x: row(1) }, { into: { y: all.subarray(16, 32) } });
  assert.deepEqual([...all.subarray(0, 16)], new Array(16).fill(-1));
  assert.deepEqual(all.subarray(16, 32), row(1));
  assert.deepEqual([...all.subarray(32)], new Array(16).fill(-1));
});

test('large outputs and shared memory are written, too', async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [50_000] }], outputs: [{ name: 'y', dims: [50_000] }] };
  const server = await serve(t, { echo: identity({ ...tensors, maxBatchSize: 4 }) });
  const x = row(3, 50_000);
  const y = new Float32Array(new SharedArrayBuffer(200_000));
  const { outputs } = await server.infer('echo', { x }, { into: { y } });
  assert.deepEqual([...y], [...x]);
  assert.equal(outputs['y']?.data, y);
});

test('an array that was transferred or resized meanwhile rejects its request alone', async (t) => {
  const server = await serve(t, { echo: identity({ delayMs: 5 }) });
  const gone = new Float32Array(16);
  // TypeScript's library does not know it yet.
  const ResizableBuffer = ArrayBuffer as unknown as new (
    length: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer & { resize(length: number): void };
  const resizable = new ResizableBuffer(64, { maxByteLength: 128 });
  const shrunk = new Float32Array(resizable);
  const kept = new Float32Array(16);
  const requests = [gone, shrunk, kept].map((y) => server.infer('echo', { x: row(7) }, { into: { y } }));
  structuredClone(gone, { transfer: [gone.buffer] });
  resizable.resize(32);
  for (const request of requests.slice(0, 2)) {
    const { code, message } = await rejection(request);
    assert.equal(code, 'INVALID_ARG');
    assert.match(message, /output 'y': expected an array for FP32 \[1,16\] in options\.into/);
  }
  await requests[2];
  assert.deepEqual(kept, row(7));
});

const wrong: readonly (readonly [what: string, into: unknown, message: RegExp])[] = [
  ['an unknown output', { z: new Float32Array(16) }, /unknown output 'z' in options\.into/],
  ['an array of another class', { y: new Float64Array(16) }, /expected a Float32Array in options\.into/],
  ['something that is no array', { y: 5 }, /expected a Float32Array in options\.into, but got/],
  ['no object', 7, /expected an object for infer options\.into/],
];

for (const [what, into, message] of wrong) {
  test(`${what} is refused`, async (t) => {
    const server = await serve(t, { echo: identity() });
    const error = await rejection(server.infer('echo', { x: row() }, { into: into as never }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  });
}

test('an array of another size is refused when the answer is there', async (t) => {
  const server = await serve(t, { echo: identity() });
  const y = new Float32Array(15);
  const { code, message } = await rejection(server.infer('echo', { x: row(1) }, { into: { y } }));
  assert.equal(code, 'INVALID_ARG');
  assert.match(message, /expected an array for FP32 \[1,16\]/);
  assert.deepEqual(y, new Float32Array(15));
});
