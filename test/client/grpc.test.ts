/** The gRPC client's streams, and its behaviour with misbehaving servers. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp2, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { RemoteResult } from '../../src/client/index.js';
import { createServer, type GivenModel } from '../../src/index.js';
import { serveGrpc } from '../../src/endpoints/grpc/serve.js';
import { floats, identity, onnx, rejection, row, serve, until, type Context } from '../support/harness.js';
import { addressOf, connected, connectedTo } from './harness.js';

const both = connectedTo('grpc');

/** A model that counts from 0 to its input, one response each, and the number of responses made. */
function counter(): { readonly model: GivenModel; made: number; left: number } {
  const state = { made: 0, left: 0 };
  const model: GivenModel = {
    config: {
      max_batch_size: 0,
      model_transaction_policy: { decoupled: true },
      input: [{ name: 'n', data_type: 'TYPE_FP32', dims: [1] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [-1] }],
    },
    execute: (requests) =>
      requests.map(async function* ({ inputs: { n } }) {
        const count = (n as { data: Float32Array }).data[0] ?? 0;
        if (count < 0) throw new Error('it cannot count so far');
        try {
          for (let i = 0; i < count; i++) {
            await Promise.resolve();
            state.made++;
            yield { y: new Float32Array(count > 1e5 ? 16_384 : 1).fill(i) };
          }
        } finally {
          state.left++;
        }
      }),
  };
  return Object.assign(state, { model });
}

async function counting(t: Context, given: ReturnType<typeof counter>) {
  const own = await createServer({ models: { c: given.model } });
  t.after(() => own.close({ timeoutMs: 0 }));
  const remote = await connected(t, await addressOf(t, 'grpc', own));
  return { own, model: await remote.model('c') };
}

const n = (count: number): { n: Float32Array } => ({ n: Float32Array.of(count) });
const first = ({ outputs }: RemoteResult): number => outputs['y']?.as('FP32').data[0] ?? NaN;

test('a decoupled model streams as in its own process: responses, parameters, no response, an error', async (t) => {
  const { own, model } = await counting(t, counter());
  for (const count of [3, 1, 0]) {
    const seen: RemoteResult[] = [];
    for await (const result of model.stream(n(count), { id: 'a' })) seen.push(result);
    assert.deepEqual(seen.map(first), [0, 1, 2].slice(0, count));
    const expected: RemoteResult[] = [];
    for await (const { timings: _timings, ...one } of own.model('c').stream(n(count), { id: 'a' }))
      expected.push(one);
    const plain = (all: readonly RemoteResult[]) =>
      all.map((one) => ({ ...one, outputs: { ...one.outputs } }));
    assert.deepEqual(plain(seen), plain(expected));
  }
  const error = await rejection(model.stream(n(-1)).next());
  assert.match(error.message, /it cannot count so far/);
  assert.equal(error.code, (await rejection(own.model('c').stream(n(-1)).next())).code);
  const infer = await rejection(model.infer(n(1)));
  assert.deepEqual([infer.code, /call stream/.test(infer.message)], ['UNSUPPORTED', true]);
  const wrong = await rejection(model.stream({ n: new Float32Array(2) }).next());
  assert.equal(wrong.code, 'INVALID_ARG');
});

test('a response without outputs is one like another, also as the last', async (t) => {
  const quiet: GivenModel = {
    config: {
      model_transaction_policy: { decoupled: true },
      input: [{ name: 'n', data_type: 'TYPE_FP32', dims: [1] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
    },
    execute: (requests) =>
      requests.map(function* (request) {
        yield { y: null };
        yield { y: Float32Array.of(1) };
        yield request.withParameters({ y: null }, { k: 1 });
        yield { y: null };
      }),
  };
  const own = await createServer({ models: { c: quiet } });
  t.after(() => own.close({ timeoutMs: 0 }));
  const remote = await connected(t, await addressOf(t, 'grpc', own));
  const shown = async (stream: AsyncIterable<RemoteResult>): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for await (const { outputs, parameters } of stream) seen.push([Object.keys(outputs), parameters]);
    return seen;
  };
  const expected = [
    [[], {}],
    [['y'], {}],
    [[], { k: 1 }],
    [[], {}],
  ];
  assert.deepEqual(await shown(own.stream('c', n(1))), expected);
  assert.deepEqual(await shown((await remote.model('c')).stream(n(1))), expected);
});

test('a reader that does not read holds the model back, and one that leaves ends it', async (t) => {
  const given = counter();
  const { model } = await counting(t, given);
  const stream = model.stream(n(1e6));
  assert.equal(first((await stream.next()).value as RemoteResult), 0);
  // Windows, buffers and what is unread are bounded, so it stops long before its end.
  await until(() => given.made > 10);
  let before = -1;
  await until(async () => {
    const isStill = before === given.made;
    before = given.made;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return isStill && before === given.made;
  });
  assert.ok(given.made < 2000, String(given.made));
  const made = given.made;
  for (let i = 1; i <= made; i++) assert.equal(first((await stream.next()).value as RemoteResult), i);
  assert.ok(given.made > made);
  await stream.return?.();
  await until(() => given.left === 1);
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
});

test('streams that are left early, by the thousand, end no other call', async (t) => {
  const given = counter();
  const { model } = await counting(t, given);
  const kept = model.stream(n(100));
  assert.equal(first((await kept.next()).value as RemoteResult), 0);
  let isStorm = true;
  const innocent = Array.from({ length: 4 }, async () => {
    for (let calls = 1; ; calls++) {
      const seen: number[] = [];
      for await (const result of model.stream(n(3))) seen.push(first(result));
      assert.deepEqual(seen, [0, 1, 2]);
      if (!isStorm) return calls;
    }
  });
  const leaving = Array.from({ length: 20 }, async () => {
    for (let i = 0; i < 50; i++) {
      for await (const result of model.stream(n(1e6))) {
        assert.equal(first(result), 0);
        break;
      }
    }
  });
  await Promise.all(leaving);
  isStorm = false;
  for (const calls of await Promise.all(innocent)) assert.ok(calls > 1);
  for (let i = 1; i < 100; i++) assert.equal(first((await kept.next()).value as RemoteResult), i);
  assert.equal((await kept.next()).done, true);
});

test('a signal ends a stream with its reason', async (t) => {
  const given = counter();
  const { model } = await counting(t, given);
  const stop = new AbortController();
  const reason = new Error('enough');
  const stream = model.stream(n(1e6), { signal: stop.signal });
  await stream.next();
  stop.abort(reason);
  const error = await rejection(stream.next());
  assert.deepEqual([error.code, error.cause], ['CANCELLED', reason]);
  await until(() => given.left === 1);
});

test('a request that is cancelled here is cancelled there', async (t) => {
  const { own, remote } = await both(t, { slow: identity({ delayMs: 500, maxBatchSize: 1 }) });
  const model = await remote.model('slow');
  const kept = model.infer({ x: row(1) });
  const stop = new AbortController();
  const waiting = Array.from({ length: 20 }, () => model.infer({ x: row() }, { signal: stop.signal }));
  // The requests have arrived, and wait for the first one.
  await until(() => /^nv_inference_pending_request_count\{[^}]*\} [1-9]/m.test(own.metrics()));
  stop.abort();
  for (const one of waiting) assert.equal((await rejection(one)).code, 'CANCELLED');
  assert.deepEqual(floats(await kept), [...row(1)]);
  await until(() => own.model('slow').statistics().inference_stats.fail.count >= 1);
  assert.ok(own.model('slow').statistics().inference_count < 20);
});

test('the time limit goes with the call, and ends it', async (t) => {
  const { remote } = await both(t, { slow: identity({ delayMs: 60_000 }) }, {}, { timeoutMs: 1500 });
  const error = await rejection(remote.infer('slow', { x: row() }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /did not answer within 1500 ms|deadline of 1500 ms has passed/);
});

test('large tensors, and hundreds of calls at once on several connections', async (t) => {
  const { remote } = await both(t, { add: onnx(undefined, { maxBatchSize: 8192 }) });
  const model = await remote.model('add');
  const large = row(0, 16 * 8192);
  assert.deepEqual(
    (await model.infer({ x: large })).outputs['y']?.as('FP32').data,
    large.map((x) => x + 1),
  );
  const all = await Promise.all(Array.from({ length: 500 }, (_, i) => model.infer({ x: row(i) })));
  assert.deepEqual(
    all.map((one) => floats(one)[0]),
    Array.from({ length: 500 }, (_, i) => i + 1),
  );
});

test('a server that goes away and comes back: calls that only read are made again', async (t) => {
  const own = await serve(t, { add: onnx() });
  const endpoint = await serveGrpc(own, { port: 0 });
  const { port } = endpoint.address;
  const remote = await connected(t, `grpc://127.0.0.1:${port}`);
  assert.equal(await remote.ready, true);
  await endpoint.close({ timeoutMs: 0 });
  assert.equal(await remote.ready, false);
  assert.equal((await rejection(remote.infer('add', { x: row() }))).code, 'UNAVAILABLE');
  const again = await serveGrpc(own, { port });
  t.after(() => again.close({ timeoutMs: 0 }));
  assert.equal(await remote.ready, true);
  assert.deepEqual(floats(await remote.infer('add', { x: row() })), [...row(1)]);
});

/** A server of another implementation. */
async function strange(
  t: Context,
  answer: (stream: ServerHttp2Stream, rpc: string, headers: IncomingHttpHeaders) => void,
): Promise<string> {
  const http = createHttp2();
  const sessions = new Set<{ destroy(): void }>();
  http.on('session', (session) => sessions.add(session));
  http.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    answer(stream, (headers[':path'] ?? '').split('/').at(-1) ?? '', headers);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.after(async () => {
    for (const session of sessions) session.destroy();
    http.close();
    await once(http, 'close');
  });
  return `grpc://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

const grpc = { ':status': 200, 'content-type': 'application/grpc' };

/** Answers with these bytes, and a status. */
function tell(stream: ServerHttp2Stream, bytes: Buffer, status = '0'): void {
  stream.respond(grpc, { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    stream.sendTrailers({ 'grpc-status': status, 'grpc-message': 'so %25 and %C3%A9' });
  });
  stream.end(bytes);
}

test('only calls that read are made again, and those that the server has not looked at', async (t) => {
  const asked: string[] = [];
  let refusals = 1;
  const url = await strange(t, (stream, rpc) => {
    asked.push(rpc);
    if (rpc === 'ServerLive') stream.respond({ ...grpc, 'grpc-status': '0' }, { endStream: true });
    else if (rpc === 'ModelInfer' && refusals-- > 0)
      stream.close(7); // REFUSED_STREAM
    else if (rpc === 'ModelMetadata') tell(stream, metadata);
    else if (rpc === 'ModelConfig') stream.respond({ ...grpc, 'grpc-status': '12' }, { endStream: true });
    else stream.session?.destroy();
  });
  const remote = await connected(t, url);
  assert.equal((await rejection(remote.metadata())).code, 'UNAVAILABLE');
  assert.equal(asked.filter((rpc) => rpc === 'ServerMetadata').length, 3);
  const error = await rejection(remote.infer('m', { x: Float32Array.of(1) }));
  assert.equal(error.code, 'UNAVAILABLE');
  // The second request was lost, and may have run, so it is not sent again.
  assert.equal(asked.filter((rpc) => rpc === 'ModelInfer').length, 2);
});

/** A message with a prefix; fields are written by hand. */
function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
const field = (number: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([number * 8 + 2, value.length]), value]);
const text = (number: number, value: string): Buffer => field(number, Buffer.from(value));
const tensor = (name: string, type: string, dims: number[]): Buffer =>
  Buffer.concat([text(1, name), text(2, type), field(3, Buffer.from(dims))]);
/** A model that takes and returns one FP32. */
const metadata = framed(
  Buffer.concat([text(1, 'm'), field(4, tensor('x', 'FP32', [1])), field(5, tensor('y', 'FP32', [1]))]),
);

test('a server without configurations, that writes elements one by one, is understood', async (t) => {
  const contents = Buffer.from([6 * 8 + 2, 4, 0, 0, 0x80, 0x3f]); // fp32_contents: 1
  const output = Buffer.concat([tensor('y', 'FP32', [1]), field(5, contents)]);
  const url = await strange(t, (stream, rpc) => {
    if (rpc === 'ModelMetadata') tell(stream, metadata);
    else if (rpc === 'ModelInfer') tell(stream, framed(Buffer.concat([text(3, 'i'), field(5, output)])));
    else stream.respond({ ...grpc, 'grpc-status': '12' }, { endStream: true });
  });
  const remote = await connected(t, url);
  const { outputs, id, model } = await remote.infer('m', { x: [1] }, { id: 'i' });
  assert.deepEqual([...(outputs['y']?.as('FP32').data ?? [])], [1]);
  assert.deepEqual([id, model], ['i', { name: 'm', version: '' }]);
});

test('answers that make no sense are INTERNAL, and statuses are what they are', async (t) => {
  let answer = (stream: ServerHttp2Stream): void => {
    stream.close();
  };
  const url = await strange(t, (stream, rpc) => {
    if (rpc === 'ModelMetadata') tell(stream, metadata);
    else if (rpc === 'ModelInfer') answer(stream);
    else stream.respond({ ...grpc, 'grpc-status': '12' }, { endStream: true });
  });
  const remote = await connected(t, url);
  const asked = () => rejection(remote.infer('m', { x: Float32Array.of(1) }));
  const y = tensor('y', 'FP32', [1]);
  for (const [bytes, code] of [
    [Buffer.alloc(0), 'INTERNAL'], // no message
    [Buffer.from([0, 0, 0, 0, 9, 1]), 'INTERNAL'], // a message that is cut
    [Buffer.from([7, 0, 0, 0, 0]), 'INTERNAL'], // a flag that is none
    [Buffer.from([1, 0, 0, 0, 1, 0]), 'INTERNAL'], // compressed, though nobody has asked for it
    [Buffer.from([0, 255, 255, 255, 255]), 'UNSUPPORTED'], // a size over the limit
    [framed(Buffer.from([0xff, 0xff])), 'INTERNAL'],
    [framed(field(5, y)), 'INTERNAL'], // no bytes
    [framed(Buffer.concat([field(5, y), field(6, Buffer.alloc(3))])), 'INTERNAL'],
    [framed(Buffer.concat([field(5, tensor('y', 'FP33', [1])), field(6, Buffer.alloc(4))])), 'INTERNAL'],
  ] as const) {
    answer = (stream) => {
      tell(stream, bytes);
    };
    const error = await asked();
    assert.equal(error.code, code, `${bytes.toString('hex')}: ${error.message}`);
  }
  for (const [status, code] of [
    ['3', 'INVALID_ARG'],
    ['4', 'UNAVAILABLE'],
    ['5', 'NOT_FOUND'],
    ['8', 'INVALID_ARG'],
    ['12', 'UNSUPPORTED'],
    ['77', 'UNKNOWN'],
  ] as const) {
    answer = (stream) => {
      tell(stream, Buffer.alloc(0), status);
    };
    const error = await asked();
    assert.deepEqual([error.code, error.message], [code, 'so % and é']);
  }
  for (const [headers, code] of [
    [{ ':status': 503 }, 'UNAVAILABLE'],
    [{ ':status': 404 }, 'UNSUPPORTED'],
    [{ ':status': 200, 'content-type': 'text/html' }, 'UNKNOWN'],
  ] as const) {
    answer = (stream) => {
      stream.respond(headers);
      stream.end('<html>');
    };
    assert.equal((await asked()).code, code);
  }
});

test('addresses that make no sense, and nobody who listens', async () => {
  const { connectServer } = await import('../../src/client/index.js');
  for (const [url, code, words] of [
    ['grpc://localhost:8001/v2', 'INVALID_ARG', /without a path/],
    ['grpc:', 'INVALID_ARG', /a host|a URL/],
    ['grpc://127.0.0.1:1', 'UNAVAILABLE', /ECONNREFUSED/],
  ] as const) {
    const error = await rejection(connectServer(url, { retries: 0 }));
    assert.equal(error.code, code, url);
    assert.match(error.message, words);
  }
});
