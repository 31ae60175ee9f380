/** Batches across shapes as callers see them. native/test tests the single decisions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerOptions } from '../../src/index.js';
import { batchCountsAfter, floats, identity, rejection, serve, type Context } from '../support/harness.js';

/** The batches, by size, of eight requests with two alternating lengths, sent while the instance is busy. */
async function batchesOf(
  t: Context,
  options: Omit<ServerOptions, 'modelRepository'>,
  batching = '',
  parameter?: string,
): Promise<Record<number, number>> {
  const model = identity({
    maxBatchSize: 4,
    delayMs: 30,
    batching,
    inputs: [{ name: 'x', dims: [-1] }],
    outputs: [{ name: 'y', dims: [-1] }],
    ...(parameter === undefined ? {} : { parameters: { batch_across_shapes: parameter } }),
  });
  const server = await serve(t, { texts: model }, options);
  const ask = (length: number): Promise<unknown> =>
    server.infer('texts', { x: new Float32Array(length).fill(length) }).then((result) => {
      assert.deepEqual(
        [...floats(result)],
        Array.from({ length }, () => length),
      );
    });
  // The first request occupies the instance.
  const first = ask(1);
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([first, ...[2, 3, 2, 3, 2, 3, 2, 3].map(ask)]);
  return batchCountsAfter(server, 'texts', 9);
}

test('requests whose lengths alternate run in full batches', async (t) => {
  assert.deepEqual(await batchesOf(t, {}), { 1: 1, 4: 2 });
});

test('the option and the parameter turn it off, and the parameter takes precedence', async (t) => {
  assert.deepEqual(await batchesOf(t, { batchAcrossShapes: false }), { 1: 9 });
  assert.deepEqual(await batchesOf(t, {}, '', 'false'), { 1: 9 });
  assert.deepEqual(await batchesOf(t, { batchAcrossShapes: false }, '', 'true'), { 1: 1, 4: 2 });
});

test('answers that are to keep their order are not batched across shapes', async (t) => {
  assert.deepEqual(await batchesOf(t, {}, 'preserve_ordering: true'), { 1: 9 });
});

test('another value of the parameter fails the load, with file and line', async (t) => {
  const error = await rejection(batchesOf(t, {}, '', 'maybe'));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(
    error.message,
    /config\.pbtxt:\d+.*parameters\["batch_across_shapes"\]: expected 'true' or 'false' but found "maybe"/,
  );
});

test('an option that is neither true nor false is refused', async (t) => {
  const options: object = { batchAcrossShapes: 'no' };
  const error = await rejection(batchesOf(t, options));
  assert.match(error.message, /expected true or false for options\.batchAcrossShapes but received 'no'/);
});
