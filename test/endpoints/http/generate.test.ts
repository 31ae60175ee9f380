/** The generate extension: one object in, one out, or a stream of events. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createServer, type GivenModel } from '../../../src/index.js';
import { identity, row, serve, statisticsAfter } from '../../support/harness.js';
import { streaming } from '../../streams/harness.js';
import { ask, endpointOf, errorOf, exchange, json, open } from './harness.js';

const inputs = [
  { name: 'text', datatype: 'BYTES', dims: [1] },
  { name: 'n', datatype: 'INT64', dims: [-1] },
] as const;
const outputs = [
  { name: 'out', datatype: 'BYTES', dims: [1] },
  { name: 'm', datatype: 'INT64', dims: [-1] },
] as const;
/** out = text, m = n. */
const echo = identity({ maxBatchSize: 4, batching: false, inputs, outputs });

void suite('generate', () => {
  test('inputs become tensors, and outputs members', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { echo }));
    const head = { model_name: 'echo', model_version: '1' };
    for (const [body, expected] of [
      [
        { text: 'hé', n: 5 },
        { ...head, out: 'hé', m: 5 },
      ],
      [
        { n: [1, 2], id: 'a', parameters: { text: 'b' } },
        { id: 'a', ...head, out: 'b', m: [1, 2] },
      ],
      [
        { text: ['x'], n: [7], temperature: 0.5, stop: true, seed: 3 },
        { ...head, out: 'x', m: 7 },
      ],
    ] as const) {
      const answer = await ask(endpoint, '/v2/models/echo/generate', { body });
      assert.equal(answer.headers['content-type'], 'application/json');
      assert.deepEqual(json(answer), expected);
      const events = await ask(endpoint, '/v2/models/echo/versions/1/generate_stream', { body });
      assert.equal(events.headers['content-type'], 'text/event-stream; charset=utf-8');
      assert.equal(events.text, `data: ${answer.text}\n\n`);
    }
    const exact = await ask(endpoint, '/v2/models/echo/generate', {
      body: '{"text":"a","n":9007199254740993}',
    });
    assert.match(exact.text, /"m":9007199254740993\}/);
  });

  for (const [name, body, status, message] of [
    ['no JSON', '{', 400, /JSON/],
    ['no object', [], 400, /an object/],
    ['a name twice', { text: 'a', n: 1, parameters: { n: 2 } }, 400, /'n' is given twice/],
    ['parameters of another type', { parameters: 5 }, 400, /parameters/],
    ['an id of another type', { id: 5, text: 'a', n: 1 }, 400, /id/],
    ['nested arrays', { text: [['a']], n: 1 }, 400, /flat array/],
    ['another type', { text: 5, n: 1 }, 400, /a string/],
    ['1.0 for an integer', '{"text":"a","n":1.0}', 400, /an integer/],
    ['a missing input', { text: 'a' }, 400, /missing 'n'/],
    ['a parameter that is an array', { text: 'a', n: 1, p: [1] }, 400, /parameter 'p'/],
    ['an id of a sequence', { text: 'a', n: 1, sequence_id: -4 }, 400, /'sequence_id'/],
  ] as const) {
    test(`refused: ${name}`, async (t) => {
      const endpoint = await endpointOf(t, await serve(t, { echo }));
      for (const path of ['generate', 'generate_stream'])
        assert.match(errorOf(await ask(endpoint, `/v2/models/echo/${path}`, { body }), status), message);
    });
  }

  test('elements that do not fill the shape', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    const generate = (x: unknown): ReturnType<typeof ask> =>
      ask(endpoint, '/v2/models/m/generate', { body: { x } });
    assert.match(errorOf(await generate([1, 2, 3]), 400), /The schema cannot convert input 'x'/);
    assert.deepEqual((json(await generate([...row(), ...row()])) as { y: unknown }).y, [...row(), ...row()]);
    errorOf(await ask(endpoint, '/v2/models/nobody/generate', { body: { x: 1 } }), 404);
    const headers = { 'Content-Encoding': 'gzip' };
    errorOf(await ask(endpoint, '/v2/models/m/generate', { body: { x: 1 }, headers }), 415);
  });
});

test('each name comes once: the request and the model first, then parameters, then outputs', async (t) => {
  const names = ['y', 'id', 'model_name', 'model_version', 'shared'];
  const model: GivenModel = {
    config: {
      input: [{ name: 'x', data_type: 'TYPE_INT32', dims: [1] }],
      output: names.map((name) => ({ name, data_type: 'TYPE_INT32', dims: [1] })),
    },
    execute: (requests) =>
      requests.map((request) =>
        request.withParameters(Object.fromEntries(names.map((name, i) => [name, Int32Array.of(i)])), {
          shared: 'told',
          id: 'told',
          model_version: 'told',
          more: true,
        }),
      ),
  };
  const server = await createServer({ models: { m: model } });
  t.after(() => server.close());
  const endpoint = await endpointOf(t, server);
  for (const [body, id] of [
    [{ x: 1, id: 'a' }, '"a"'],
    [{ x: 1 }, '"told"'],
  ] as const) {
    const text = [
      ...(id === '"a"' ? [`"id":${id}`] : []),
      '"model_name":"m","model_version":"1","y":0',
      `"shared":"told"${id === '"a"' ? '' : `,"id":${id}`},"more":true`,
    ];
    const answer = await ask(endpoint, '/v2/models/m/generate', { body });
    assert.equal(answer.text, `{${text.join(',')}}`);
    const events = await ask(endpoint, '/v2/models/m/generate_stream', { body });
    assert.equal(events.text, `data: ${answer.text}\n\n`);
  }
});

void suite('models with any number of responses', () => {
  const body = (count: number, how = 0, size = 1): object => ({ count, how, size });
  const event = (y: number): string => `data: {"model_name":"m","model_version":"1","y":${y}}\n\n`;

  test('each response is an event', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: streaming() }));
    for (const count of [1, 2, 1000]) {
      const { status, text } = await ask(endpoint, '/v2/models/m/generate_stream', { body: body(count) });
      assert.equal(status, 200);
      assert.equal(text, Array.from({ length: count }, (_, k) => event(k)).join(''));
    }
    const none = await ask(endpoint, '/v2/models/m/generate_stream', { body: body(0, 1) });
    assert.deepEqual([none.status, none.text], [200, '']);
  });

  test('an error is an event, and the status if it is the first', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: streaming() }));
    const late = await ask(endpoint, '/v2/models/m/generate_stream', { body: body(2, 2) });
    assert.equal(late.status, 200);
    assert.match(late.text, /"y":1\}\n\ndata: \{"error":".*an injected failure.*"\}\n\n$/);
    const first = await ask(endpoint, '/v2/models/m/generate_stream', { body: body(0, 2) });
    assert.equal(first.status, 400);
    assert.match(first.text, /^data: \{"error":".*an injected failure.*"\}\n\n$/);
    assert.match(
      errorOf(await ask(endpoint, '/v2/models/m/generate', { body: body(0, 2) }), 400),
      /injected/,
    );
  });

  test('generate takes one response, and infer none of them', async (t) => {
    const server = await serve(t, { m: streaming() });
    const endpoint = await endpointOf(t, server);
    const { y } = json(await ask(endpoint, '/v2/models/m/generate', { body: body(1) })) as { y: number };
    assert.equal(y, 0);
    for (const [count, how] of [
      [2, 0],
      [1_000_000, 0],
      [0, 1],
    ] as const) {
      const answer = await ask(endpoint, '/v2/models/m/generate', { body: body(count, how) });
      assert.match(errorOf(answer, 200), /exactly 1 response/);
    }
    const one = (name: string, value: number): object => ({
      name,
      datatype: 'INT32',
      shape: [1],
      data: [value],
    });
    const inferBody = { inputs: [one('count', 1), one('how', 0), one('size', 1)] };
    assert.match(errorOf(await ask(endpoint, '/v2/models/m/infer', { body: inferBody }), 501), /decoupled/);
  });

  test('a client that does not read holds the model back, and one that leaves ends the request', async (t) => {
    const server = await serve(t, { m: streaming({ more: '' }) });
    const endpoint = await endpointOf(t, server);
    const text = JSON.stringify(body(1_000_000_000, 0, 100));
    const socket = open(t, endpoint);
    socket.write(
      `POST /v2/models/m/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    socket.destroy();
    const { inference_stats: counts } = await statisticsAfter(server, 'm', 1);
    assert.equal(counts.success.count, 0);
    // Other connections are still served.
    const short = JSON.stringify(body(3));
    const next = `POST /v2/models/m/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: ${short.length}\r\n\r\n${short}`;
    const again = await exchange(t, endpoint, next, /\r\n0\r\n\r\n$/);
    assert.match(again, /"y":2\}/);
  });
});

test('answers tell how full the cache of a language model is, where its metrics are kept and the client asks', async (t) => {
  const server = await serve(t, { echo });
  const endpoint = await endpointOf(t, server);
  const header = async (format: string, path = 'generate', text: unknown = 'a'): Promise<unknown> => {
    const headers = { 'endpoint-load-metrics-format': format };
    const answer = await ask(endpoint, `/v2/models/echo/${path}`, { body: { text, n: 1 }, headers });
    return answer.headers['endpoint-load-metrics'];
  };
  assert.equal(await header('text'), undefined);
  const blocks = (type: string, model = 'llm') =>
    server.metric({
      name: 'nv_trt_llm_kv_cache_block_metrics',
      help: 'KV cache block metrics',
      type: 'gauge',
      labels: { kv_cache_block_type: type, model, version: '1' },
    });
  blocks('max').set(400);
  blocks('used').set(100);
  blocks('fraction').set(7);
  assert.equal(await header('json'), undefined);
  blocks('tokens_per').set(64);
  const text = 'TEXT named_metrics.kv_cache_utilization=0.250000, named_metrics.max_token_capacity=25600';
  const json_ = 'JSON {"named_metrics":{"kv_cache_utilization":0.25,"max_token_capacity":25600}}';
  assert.equal(await header('text'), text);
  assert.equal(await header('json'), json_);
  assert.equal(await header('json', 'generate_stream'), json_);
  for (const format of ['', 'JSON', 'bin']) assert.equal(await header(format), undefined);
  blocks('max').set(0);
  blocks('used').set(0);
  assert.match(String(await header('json')), /"kv_cache_utilization":0\.0,"max_token_capacity":0\}/);
  const plain = await ask(endpoint, '/v2/models/echo/generate', { body: { text: 'a', n: 1 } });
  assert.equal(plain.headers['endpoint-load-metrics'], undefined);
});
