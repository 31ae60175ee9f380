/** ModelStreamInfer: order, errors, the last response, cancellation, clients that do not read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { createServer, type GivenModel, type InferenceServer } from '../../../src/index.js';
import { identity, onnx, row, serve, until } from '../../support/harness.js';
import { counter } from '../counter.js';
import { endpointOf, failure, floats, floatsOf, foreign, responses, type Fields } from './harness.js';

const raw = Buffer.from(row().buffer);
const request = (model: string, id: string, more: Fields = {}): Fields => ({
  model_name: model,
  id,
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
  raw_input_contents: [raw],
  ...more,
});

interface Response {
  readonly error_message?: string;
  readonly infer_response?: {
    readonly id?: string;
    readonly model_name?: string;
    readonly parameters?: Record<string, { readonly bool_param?: boolean }>;
    readonly raw_output_contents?: Buffer[];
  };
}
const isFinal = ({ infer_response: one }: Response): boolean =>
  one?.parameters?.['triton_final_response']?.bool_param === true;

const count = (n: number, id = '', more: Fields = {}): Fields => ({
  model_name: 'c',
  id,
  inputs: [{ name: 'n', datatype: 'FP32', shape: [1] }],
  raw_input_contents: [floats(n)],
  ...more,
});
const emptyFinal = { parameters: { triton_enable_empty_final_response: { bool_param: true } } };

async function counting(t: { after(f: () => Promise<void>): void }): Promise<InferenceServer> {
  const server = await createServer({ models: { c: counter } });
  t.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

test('responses of ordinary models come in the order of their requests', async (t) => {
  const server = await serve(t, { fast: onnx(), slow: identity({ delayMs: 100 }) });
  const client = await foreign(t, await endpointOf(t, server));
  const stream = client.stream();
  const told = responses(stream);
  const names = ['slow', 'fast', 'no', 'slow', 'fast'];
  names.forEach((name, i) => stream.write(request(name, String(i))));
  stream.end();
  const list = (await told) as Response[];
  assert.deepEqual(
    list.map(({ infer_response: one }) => one?.id),
    ['0', '1', '2', '3', '4'],
  );
  assert.match(list[2]?.error_message ?? '', /unknown model: 'no'|unknown model 'no'/);
  assert.ok(list.every(isFinal));
});

test('decoupled models: any number of responses, and an empty last one for those who ask', async (t) => {
  const client = await foreign(t, await endpointOf(t, await counting(t)));
  const ask = async (...requests: Fields[]): Promise<Response[]> => {
    const stream = client.stream();
    const told = responses(stream);
    for (const one of requests) stream.write(one);
    stream.end();
    return (await told) as Response[];
  };
  const values = (list: readonly Response[]): unknown[] =>
    list.map(({ infer_response: one }) => one?.raw_output_contents?.map((bytes) => floatsOf(bytes)[0])[0]);
  assert.deepEqual(values(await ask(count(3))), [0, 1, 2]);
  assert.deepEqual(await ask(count(0)), []);
  const empty = await ask(count(0, 'e', emptyFinal));
  assert.equal(empty.length, 1);
  assert.ok(empty.every(isFinal));
  assert.equal(empty[0]?.infer_response?.id, 'e');
  assert.equal(empty[0].infer_response.model_name, 'c');
  const three = await ask(count(3, '', emptyFinal));
  assert.deepEqual(three.map(isFinal).filter(Boolean), [true]);
  assert.ok(isFinal(three.at(-1) ?? {}));
  const [failed] = await ask(count(-1, 'f'));
  assert.match(failed?.error_message ?? '', /it cannot count so far/);
  assert.equal(failed?.infer_response?.id, 'f');
  const both = await ask(count(2, 'a'), count(2, 'b'));
  for (const id of ['a', 'b'])
    assert.deepEqual(values(both.filter(({ infer_response: one }) => one?.id === id)), [0, 1]);
  // ModelInfer refuses decoupled models.
  const error = await failure(client.call('ModelInfer', count(1)));
  assert.equal(error.code, status.UNIMPLEMENTED);
  assert.match(error.details, /decoupled transaction policy/);
});

test('with triton_grpc_error the first error ends the stream', async (t) => {
  const client = await foreign(t, await endpointOf(t, await serve(t, { m: onnx() })));
  const stream = client.stream({ metadata: { triton_grpc_error: 'true' } });
  const told: unknown[] = [];
  stream.on('data', (one) => told.push(one));
  stream.write(request('m', '0'));
  stream.write(request('no', '1'));
  const error = await failure(
    new Promise((_, reject) => {
      stream.on('error', reject);
    }),
  );
  assert.equal(error.code, status.NOT_FOUND);
  assert.equal(told.length, 1);
});

test('a client that cancels the stream cancels its requests', async (t) => {
  const server = await serve(t, { m: identity({ delayMs: 60_000, batching: false }) });
  const client = await foreign(t, await endpointOf(t, server));
  const pending = (): number =>
    Number(/^nv_inference_pending_request_count\{[^}]*\} (\d+)$/m.exec(server.metrics())?.[1] ?? 0);
  const stream = client.stream();
  stream.on('error', () => undefined);
  for (const id of ['0', '1', '2']) stream.write(request('m', id));
  await until(() => pending() === 2);
  stream.cancel();
  await until(() => pending() === 0);
});

test('a client that does not read holds back the model and itself', async (t) => {
  let made = 0;
  const endless: GivenModel = {
    config: {
      max_batch_size: 0,
      model_transaction_policy: { decoupled: true },
      input: [{ name: 'n', data_type: 'TYPE_FP32', dims: [1] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [-1] }],
    },
    execute: (requests) =>
      requests.map(async function* () {
        for (;;) {
          await Promise.resolve();
          made++;
          yield { y: new Float32Array(1 << 16) };
        }
      }),
  };
  const server = await createServer({ models: { c: endless } });
  t.after(() => server.close({ timeoutMs: 0 }));
  const client = await foreign(t, await endpointOf(t, server));
  const stream = client.stream();
  stream.on('error', () => undefined);
  stream.write(count(1));
  let before = -1;
  await until(() => {
    const still = made > 0 && made === before;
    before = made;
    return still;
  });
  assert.ok(made < 2000, `${made} responses of 256 KiB`);
  stream.on('data', () => undefined);
  const held = made;
  await until(() => made > held + 10);
  stream.cancel();
});

test('thousands of requests in one stream', async (t) => {
  const server = await serve(t, { m: onnx() });
  const client = await foreign(t, await endpointOf(t, server));
  const stream = client.stream();
  const told = responses(stream);
  const all = 3000;
  for (let i = 0; i < all; i++) stream.write(request('m', String(i)));
  stream.end();
  const list = (await told) as Response[];
  assert.deepEqual(
    list.map(({ infer_response: one }) => Number(one?.id)),
    Array.from({ length: all }, (_, i) => i),
  );
});
