import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backend } from '../../src/backends/identity/index.js';
import { identity, rejection, row, serve, start } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

test('outputs are the inputs at the same position', async (t) => {
  const tensors = [
    { name: 'a', datatype: 'FP32', dims: [2] },
    { name: 'b', datatype: 'INT64', dims: [-1] },
    { name: 'c', datatype: 'BOOL', dims: [1] },
  ] as const;
  const outputs = tensors.map((tensor) => ({ ...tensor, name: `${tensor.name}_out` }));
  const server = await serve(t, { echo: identity({ inputs: tensors, outputs }) });
  const result = await server.infer('echo', {
    a: Float32Array.of(1, 2),
    b: BigInt64Array.of(3n, 4n, 5n),
    c: Uint8Array.of(1),
  });
  assert.deepEqual(result.outputs['a_out']?.toArray(), [[1, 2]]);
  assert.deepEqual(result.outputs['b_out']?.toArray(), [[3n, 4n, 5n]]);
  assert.deepEqual(result.outputs['c_out']?.toArray(), [[true]]);
});

test('it may have fewer outputs than inputs', async (t) => {
  const server = await serve(t, { echo: identity({ inputs: [{ name: 'x' }, { name: 'ignored' }] }) });
  const { outputs } = await server.infer('echo', { x: row(1), ignored: row(5) });
  assert.deepEqual(Object.keys(outputs), ['y']);
  assert.deepEqual(outputs['y']?.data, row(1));
});

test('it needs a version, but no file', () => {
  assert.equal(backend.needsFile, false);
});

test('an output without an input of its kind is refused at load', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), {
    odd: identity({ outputs: [{ name: 'y', datatype: 'INT32' }] }),
  });
  const error = await rejection(start(t, repository));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /model 'odd': output 'y' of the identity backend must have an input/);
});

for (const value of ['-1', '1.5', 'soon', '']) {
  test(`execute_delay_ms '${value}' is refused at load`, async (t) => {
    const models = { slow: identity({ parameters: { execute_delay_ms: value } }) };
    const repository = await writeRepository(await temporaryFolder(t), models);
    const error = await rejection(start(t, repository));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /execute_delay_ms.*expected an? (integer|whole number)/);
    assert.match(error.message, new RegExp(`['"]${value}['"]$`));
  });
}

test('execute_delay_ms is how long a run takes', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 20 }) });
  const { timings } = await server.infer('slow', { x: row() });
  assert.ok(timings.computeInferNs >= 20e6, `${timings.computeInferNs} ns`);
});

test('instance i takes i times as long, times instance_wise_delay_multiplier', async (t) => {
  const parameters = { execute_delay_ms: 10, instance_wise_delay_multiplier: 3 };
  const server = await serve(t, {
    slow: identity({ batching: false, instances: 3, parameters }),
  });
  // As in Triton, instance 0 counts as the first. So the first two take equally long.
  const least = [30, 30, 60];
  // A busy machine is late many times, but not always.
  const shortest = [Infinity, Infinity, Infinity];
  const isLate = (): boolean => shortest.some((time, i) => time >= (least[i] ?? 0) + 25);
  for (let tries = 0; tries < 100 && isLate(); tries++) {
    const results = await Promise.all([0, 1, 2].map((first) => server.infer('slow', { x: row(first) })));
    const times = results.map(({ timings }) => timings.computeInferNs / 1e6).sort((a, b) => a - b);
    for (const [i, time] of times.entries()) {
      assert.ok(time >= (least[i] ?? 0), `${times.join(', ')} ms`);
      shortest[i] = Math.min(shortest[i] ?? 0, time);
    }
  }
  assert.ok(!isLate(), `at least ${shortest.join(', ')} ms`);
});
