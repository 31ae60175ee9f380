/** Responses that are together larger than a page (256 KiB). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, identity, row, serve } from '../support/harness.js';

test('several outputs below 64 KB that are together more than a page are right', async (t) => {
  const names = Array.from({ length: 8 }, (_, i) => `t${i}`);
  const length = 15_000;
  const tensors = names.map((name) => ({ name, dims: [length] }));
  const server = await serve(t, { echo: identity({ inputs: tensors, outputs: tensors }) });
  const requests = [0, 100].map((first) =>
    server.infer('echo', Object.fromEntries(names.map((name, i) => [name, row(first + i, length)]))),
  );
  for (const [k, result] of (await Promise.all(requests)).entries()) {
    for (const [i, name] of names.entries())
      assert.deepEqual(floats(result, name), [...row(100 * k + i, length)]);
  }
});

test('a batch whose answers are more than a page is delivered whole', async (t) => {
  const dims = [5000];
  const server = await serve(t, {
    echo: identity({ inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }),
  });
  const requests = Array.from({ length: 64 }, (_, i) => server.infer('echo', { x: row(i, 5000) }));
  for (const [i, result] of (await Promise.all(requests)).entries())
    assert.deepEqual(floats(result), [...row(i, 5000)]);
});

test('an answer of very many outputs is delivered whole', async (t) => {
  const names = Array.from({ length: 400 }, (_, i) => `t${i}`);
  const tensors = names.map((name) => ({ name, dims: [1, 1, 1, 1] }));
  const server = await serve(t, { echo: identity({ inputs: tensors, outputs: tensors }) });
  const inputs = (first: number): Record<string, Float32Array> =>
    Object.fromEntries(names.map((name, i) => [name, Float32Array.of(first + i)]));
  const results = await Promise.all([0, 1000, 2000].map((first) => server.infer('echo', inputs(first))));
  for (const [k, result] of results.entries()) {
    for (const [i, name] of names.entries()) assert.deepEqual(floats(result, name), [1000 * k + i]);
  }
});
