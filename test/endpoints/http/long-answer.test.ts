/** Long answers in JSON: the event loop turns while they are written, and clients may leave meanwhile. */

// Long: it moves much data.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers';
import { createServer, type ModelRequest, type Outputs } from '../../../src/index.js';
import type { HttpEndpoint } from '../../../src/endpoints/http/serve.js';
import { slicesDone } from '../../../src/slices.js';
import { ask, endpointOf, errorOf, json, open } from './harness.js';
import type { Context } from '../../support/harness.js';

const count = 1_000_000;
const values = Float32Array.from({ length: count }, (_, i) => i + 0.5);
const tensor = <D extends string>(name: string, data_type: D) => ({ name, data_type, dims: [-1] }) as const;
const texts = Array.from({ length: 100_000 }, (_, i) => `"${i}`);

const plain = {
  max_batch_size: 0,
  input: [tensor('x', 'TYPE_INT32')],
  output: [tensor('y', 'TYPE_FP32'), tensor('t', 'TYPE_STRING')],
};

/** The value of `x` is the number of elements of `y`; `t` has texts. */
const outputsFor = ({ inputs }: ModelRequest): Outputs => ({
  y: values.subarray(0, Number(inputs['x']?.as('INT32').data[0])),
  t: texts,
});

async function endpoint(t: Context): Promise<HttpEndpoint> {
  const server = await createServer({
    models: {
      one: { config: plain, execute: (requests) => requests.map(outputsFor) },
      streams: {
        config: { ...plain, model_transaction_policy: { decoupled: true } },
        execute: (requests) => requests.map((request) => [outputsFor(request)]),
      },
    },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  return endpointOf(t, server);
}

/** Counts the turns of the loop until the promise settles. */
async function turnsUntil<T>(promise: Promise<T>): Promise<[T, number]> {
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const value = await promise;
  over = true;
  return [value, turns];
}

const body = (elements: number): object => ({
  inputs: [{ name: 'x', datatype: 'INT32', shape: [1], data: [elements] }],
});

test('infer, generate and generate_stream write a long answer in turns', async (t) => {
  const served = await endpoint(t);
  const [answer, turns] = await turnsUntil(ask(served, '/v2/models/one/infer', { body: body(count) }));
  // Writing takes some hundred milliseconds, and uses one millisecond of each turn.
  assert.ok(turns > 50, `${turns} turns`);
  const { outputs } = json(answer) as { outputs: { name: string; data: unknown[] }[] };
  assert.deepEqual(
    outputs.map(({ name }) => name),
    ['y', 't'],
  );
  assert.ok(values.every((value, i) => outputs[0]?.data[i] === value));
  assert.deepEqual(outputs[1]?.data, texts);
  for (const path of ['/v2/models/one/generate', '/v2/models/streams/generate_stream']) {
    const [generated, more] = await turnsUntil(ask(served, path, { body: { x: count } }));
    assert.ok(more > 50, `${path}: ${more} turns`);
    const text = generated.text.replace(/^data: /, '');
    const { y, t: said } = JSON.parse(text) as { y: number[]; t: string[] };
    assert.ok(y.length === count && values.every((value, i) => y[i] === value));
    assert.deepEqual(said, texts);
  }
  const few = json(await ask(served, '/v2/models/one/generate', { body: { x: 1 } })) as { y: number };
  assert.equal(few.y, 0.5);
});

test('a client that leaves meanwhile ends the writing; other requests are answered', async (t) => {
  const served = await endpoint(t);
  for (const path of ['one/infer', 'one/generate', 'streams/generate_stream']) {
    const text = JSON.stringify(path.endsWith('infer') ? body(count) : { x: count });
    for (let i = 0; i < 8; i++) {
      const socket = open(t, served);
      socket.write(
        `POST /v2/models/${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      );
      setTimeout(() => socket.destroy(), 5 + 5 * i);
    }
  }
  const answer = await ask(served, '/v2/models/one/infer', { body: body(2) });
  assert.equal(answer.status, 200);
  await slicesDone();
});

test('a text that JSON cannot carry is an error, wherever it is', async (t) => {
  const server = await createServer({
    models: {
      m: {
        config: { max_batch_size: 0, input: [tensor('x', 'TYPE_INT32')], output: [tensor('y', 'TYPE_FP16')] },
        execute: (requests) => requests.map(() => ({ y: new Uint16Array(10_000) })),
      },
    },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const served = await endpointOf(t, server);
  for (const path of ['infer', 'generate']) {
    const given = path === 'infer' ? body(1) : { x: 1 };
    const answer = await ask(served, `/v2/models/m/${path}`, { body: given });
    assert.match(errorOf(answer, 400), /FP16 cannot be sent as JSON/);
  }
});
