/**
 * A client's mistake is never reported as the server's fault, over any protocol. Nothing hangs, and the next
 * request works.
 */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { identity, onnx, row, serve, type Context } from '../support/harness.js';
import { endpointOf as grpcOf, failure, floats, foreign, type Fields } from './grpc/harness.js';
import { ask as askGrpc, framed, session } from './grpc/raw.js';
import { ask, endpointOf as httpOf, exchange, json, type Ask } from './http/harness.js';
import { fp32, good, input, malformed, models, textOf, wildShapes, wrongInfers } from './wrong-requests.js';

/**
 * Checks the status of a client's mistake: 4xx, or 501 for unsupported functions. Never a status that suggests a
 * retry.
 */
function isClients(status: number, which: string, text: string): void {
  assert.ok((status >= 400 && status < 500) || status === 501, `${which.slice(0, 200)}: ${status} ${text}`);
}

void suite('HTTP: what a client did wrong is never a 5xx', () => {
  const setup = async (
    t: Context,
  ): Promise<{
    send: (path: string, given: Ask) => Promise<void>;
    endpoint: Awaited<ReturnType<typeof httpOf>>;
  }> => {
    const server = await serve(t, models, { modelControlMode: 'explicit', loadModels: Object.keys(models) });
    const endpoint = await httpOf(t, server, { maxRequestBytes: 1 << 20 });
    const send = async (path: string, given: Ask): Promise<void> => {
      const { body } = given;
      const shown =
        typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body);
      const { status, text } = await ask(endpoint, path, given);
      isClients(status, `${path} ${shown} ${JSON.stringify(given.headers ?? {})}`, text);
      assert.equal(typeof (JSON.parse(text) as { error?: unknown }).error, 'string', text);
      json(await ask(endpoint, '/v2/models/m/infer', { body: good }));
    };
    return { send, endpoint };
  };

  test('bodies that are no JSON, at every endpoint that reads one', async (t) => {
    const { send } = await setup(t);
    for (const body of malformed) {
      await send('/v2/models/m/infer', { body });
      await send('/v2/models/m/versions/1/infer', { body });
      await send('/v2/models/m/generate', { body });
      await send('/v2/models/m/generate_stream', { body });
      await send('/v2/models/m/infer', { body, headers: { 'Content-Encoding': 'gzip' } });
      await send('/v2/models/m/infer', { body, headers: { 'Content-Encoding': 'deflate' } });
      if (body === '') continue; // These take an empty body for an empty object.
      await send('/v2/repository/index', { body });
      await send('/v2/repository/models/m/load', { body });
      await send('/v2/logging', { body });
    }
  });

  test('requests of infer', async (t) => {
    const { send } = await setup(t);
    for (const [model, body] of wrongInfers) await send(`/v2/models/${model}/infer`, { body });
  });

  test('binary data: sizes, shapes and lengths of the JSON', async (t) => {
    const { send } = await setup(t);
    const path = '/v2/models/f/infer';
    for (const [model, datatype] of [
      ['f', 'FP32'],
      ['s', 'BYTES'],
      ['l', 'INT64'],
    ] as const) {
      for (const shape of wildShapes) {
        for (const size of [0, 4, 8]) {
          const head = input(
            `"datatype":"${datatype}","shape":${textOf(shape)},"parameters":{"binary_data_size":${size}}`,
          );
          const body = Buffer.concat([Buffer.from(head), Buffer.alloc(size)]);
          const headers = { 'Inference-Header-Content-Length': String(head.length) };
          await send(`/v2/models/${model}/infer`, { body, headers });
        }
      }
    }
    for (const size of ['-1', '1', '99999', '99999999999999999999', 'abc', '', '1.5', '0'])
      await send(path, { body: good, headers: { 'Inference-Header-Content-Length': size } });
    for (const size of [1, 3, 63, 65])
      await send('/v2/models/m/infer', {
        body: Buffer.alloc(size),
        headers: { 'Inference-Header-Content-Length': '0' },
      });
  });

  test('generate, and calls of the repository', async (t) => {
    const { send } = await setup(t);
    const call = '/v2/models/m/generate';
    for (const body of [
      ...[
        '{}',
        '{"x":null}',
        '{"x":"a"}',
        '{"x":[[1]]}',
        '{"x":[1]}',
        '{"x":{}}',
        '{"x":1,"parameters":{"x":1}}',
      ],
      ...['{"id":5}', '{"x":1,"parameters":5}', '{"x":1,"a":[1]}', '{"x":1,"priority":-1}'],
    ]) {
      await send(call, { body });
      await send(`${call}_stream`, { body });
    }
    for (const body of [
      ...[
        '{"parameters":5}',
        '{"parameters":{"config":5}}',
        '{"parameters":{"config":"{"}}',
        '{"parameters":{"a":1}}',
      ],
      ...['{"parameters":{"force":1}}', '{"parameters":{"config":"{}","file:1/x":"!"}}'],
      '{"parameters":{"config":"{}","file:../x":"AAAA"}}',
      '{"parameters":{"file:1/x":null}}',
    ])
      await send('/v2/repository/models/m/load', { body });
    await send('/v2/repository/models/nobody/load', { body: '' });
    await send('/v2/repository/models/%00/load', { body: '' });
    for (const body of ['{"ready":1}', '{"ready":"true"}', '{"ready":[]}'])
      await send('/v2/repository/index', { body });
    for (const path of ['infer', 'generate', 'versions/7/infer', 'versions/x/infer'])
      await send(`/v2/models/nobody/${path}`, { body: good });
    await send('/v2/models/m/versions/7/infer', { body: good });
  });

  test('a POST without a length, and one whose chunks are none', async (t) => {
    const { endpoint } = await setup(t);
    const head = 'POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n';
    const chunked = 'Transfer-Encoding: chunked\r\n';
    for (const rest of [
      '\r\n',
      `${chunked}\r\n0\r\n\r\n`,
      `${chunked}\r\nzz\r\n`,
      'Content-Length: x\r\n\r\n',
    ]) {
      const text = await exchange(t, endpoint, head + rest);
      assert.match(text, /^HTTP\/1\.1 4\d\d /, rest);
      json(await ask(endpoint, '/v2/models/m/infer', { body: good }));
    }
  });

  test('null of an optional member is absent', async (t) => {
    const { endpoint } = await setup(t);
    const [x] = good.inputs;
    for (const body of [
      { id: null, parameters: null, outputs: null, ...good },
      { inputs: [{ ...x, parameters: null }] },
      { inputs: [{ ...x, parameters: { binary_data_size: null } }] },
      { ...good, outputs: [{ name: 'y', parameters: null }] },
      { ...good, outputs: [{ name: 'y', parameters: { classification: null, binary_data: null } }] },
    ]) {
      const answer = json(await ask(endpoint, '/v2/models/m/infer', { body })) as { id?: unknown };
      assert.equal(answer.id, undefined);
    }
    const body = { id: null, parameters: null, x: [...row()] };
    json(await ask(endpoint, '/v2/models/m/generate', { body }));
    json(await ask(endpoint, '/v2/repository/index', { body: { ready: null } }));
    for (const parameters of [null, { config: null, force: null }]) {
      const answer = await ask(endpoint, '/v2/repository/models/m/load', { body: { parameters } });
      assert.equal(answer.status, 200, answer.text);
    }
  });

  test('a float in a shape is refused, whichever parser the elements would have', async (t) => {
    const { endpoint } = await setup(t);
    const elements = [...row()].map((one) => `${one}.5`).join(',');
    const send = (model: string, text: string): ReturnType<typeof ask> =>
      ask(endpoint, `/v2/models/${model}/infer`, { body: text });
    for (const data of ['[1]', '[1.5]', '[NaN]', '[12345678901234567890]'])
      for (const member of ['shape', '\\u0073hape', 's\\u0068ape']) {
        const { status, text } = await send(
          'f',
          input(`"datatype":"FP32","${member}":[1.0,1],"data":${data}`),
        );
        assert.equal(status, 400, text);
        assert.match(text, /integers.*1 with a point or an exponent/);
      }
    // Floats elsewhere do not matter, and a learned form accepts no floats as elements.
    for (let i = 0; i < 8; i++) {
      json(await send('m', `{"parameters":{"t":0.5},"inputs":[{"data":[${elements}],"name":"x",${fp32}}]}`));
      json(await send('m', input(`${fp32},"data":[${elements}]`)));
      const float = await send('m', input(`"datatype":"FP32","shape":[1.0,16],"data":[${elements}]`));
      assert.equal(float.status, 400, float.text);
    }
  });
});

void suite('gRPC: what a client did wrong is not INTERNAL', () => {
  /** gRPC's specification requires INTERNAL for bytes that are not a message, although it is the client's fault. */
  const internal = 13;

  const request = (
    model: string,
    datatype: string,
    shape: readonly (number | string)[],
    more: Fields,
  ): Fields => ({
    model_name: model,
    ...more,
    inputs: [{ name: 'x', datatype, shape: shape.map(String), ...(more['inputs'] as object | undefined) }],
  });

  const wrong = (): Fields[] => [
    {},
    { model_name: 'nobody' },
    { model_name: 'm' },
    { model_name: 'm', model_version: 'x' },
    { model_name: 'm', model_version: '7' },
    ...wildShapes.flatMap((shape) => [
      ...[0, 4, 8].flatMap((size) =>
        (
          [
            ['f', 'FP32'],
            ['s', 'BYTES'],
            ['l', 'INT64'],
          ] as const
        ).map(([model, datatype]) =>
          request(model, datatype, shape, { raw_input_contents: [Buffer.alloc(size)] }),
        ),
      ),
      request('f', 'FP32', shape, { inputs: { contents: { fp32_contents: [1, 2] } } }),
      request('s', 'BYTES', shape, { inputs: { contents: { bytes_contents: [Buffer.from('a')] } } }),
      request('l', 'INT64', shape, { inputs: { contents: { int64_contents: ['1', '2'] } } }),
    ]),
    request('m', 'FP8', [1, 16], { raw_input_contents: [Buffer.alloc(64)] }),
    request('m', '', [1, 16], { raw_input_contents: [Buffer.alloc(64)] }),
    request('m', 'INT32', [1, 16], { raw_input_contents: [Buffer.alloc(64)] }),
    request('m', 'FP32', [1, 16], { raw_input_contents: [Buffer.alloc(63)] }),
    request('m', 'FP32', [1, 16], { raw_input_contents: [] }),
    request('m', 'FP32', [1, 16], { inputs: { contents: { int_contents: [1] } } }),
    request('u', 'UINT8', [1], { inputs: { contents: { uint_contents: [300] } } }),
    request('s', 'BYTES', [1, 1], { raw_input_contents: [Buffer.alloc(3, 255)] }),
    ...[
      { priority: { string_param: 'a' } },
      { priority: { int64_param: '-1' } },
      { timeout: { bool_param: true } },
      { a: {} },
      { triton_x: { bool_param: true } },
    ].map((parameters) =>
      request('m', 'FP32', [1, 16], { raw_input_contents: [floats(...row())], parameters }),
    ),
    ...[
      [{ name: 'z' }],
      [{ name: 'y' }, { name: 'y' }],
      [{ name: 'y', parameters: { classification: { int64_param: '-1' } } }],
      [{ name: 'y', parameters: { classification: { string_param: '1' } } }],
    ].map((outputs) => request('m', 'FP32', [1, 16], { raw_input_contents: [floats(...row())], outputs })),
  ];

  test('requests of infer, alone and in streams', async (t) => {
    const endpoint = await grpcOf(t, await serve(t, models));
    const client = await foreign(t, endpoint);
    const raw = session(t, endpoint);
    const works = request('m', 'FP32', [1, 16], { raw_input_contents: [floats(...row())] });
    for (const fields of wrong()) {
      const shown = JSON.stringify(fields).slice(0, 200);
      const { code: found, details } = await failure(client.call('ModelInfer', fields));
      const code: number = found;
      assert.ok(code === 3 || code === 5 || code === 12, `${shown}: ${code} ${details}`);
      const message = framed(client.messages.write('inference.ModelInferRequest', fields));
      const stream = await askGrpc(raw, message, {
        ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
        triton_grpc_error: 'true',
      });
      assert.equal(stream.status, code, `${shown}, in a stream: ${stream.status} ${stream.text}`);
      await client.call('ModelInfer', works);
    }
  });

  test('calls of the repository', async (t) => {
    const server = await serve(t, models, { modelControlMode: 'explicit', loadModels: ['m'] });
    const client = await foreign(t, await grpcOf(t, server));
    for (const [name, fields] of [
      ['RepositoryModelLoad', { model_name: 'nobody' }],
      ['RepositoryModelLoad', { model_name: '' }],
      ['RepositoryModelLoad', { model_name: 'm', parameters: { config: { string_param: '{' } } }],
      ['RepositoryModelLoad', { model_name: 'm', parameters: { config: { int64_param: '1' } } }],
      ['RepositoryModelLoad', { model_name: 'm', parameters: { other: { bool_param: true } } }],
      ['ModelConfig', { name: 'nobody' }],
      ['ModelMetadata', { name: 'm', version: 'x' }],
      ['ModelStatistics', { name: 'nobody' }],
      ['ModelReady', { name: 'm', version: 'x' }],
    ] as const) {
      const { code, details } = await failure(client.call(name, fields));
      const found: number = code;
      assert.ok(found === 3 || found === 5, `${name} ${JSON.stringify(fields)}: ${code} ${details}`);
    }
  });

  test('only bytes that are no message are INTERNAL, as the specification fixes', async (t) => {
    const endpoint = await grpcOf(t, await serve(t, models), { maxRequestBytes: 1 << 20 });
    const raw = session(t, endpoint);
    const client = await foreign(t, endpoint);
    for (const [body, headers, expected] of [
      [framed(Buffer.from([0x0a])), {}, internal],
      [framed(Buffer.alloc(12, 0xff)), {}, internal],
      [framed(Buffer.alloc(8), 1), { 'grpc-encoding': 'gzip' }, internal],
      [framed(Buffer.alloc(8), 1), {}, internal],
      [framed(Buffer.alloc(8), 1), { 'grpc-encoding': 'br' }, 12],
      [framed(gzipSync(Buffer.alloc(8 << 20)), 1), { 'grpc-encoding': 'gzip' }, 8],
      [framed(Buffer.alloc(0), 0, (1 << 20) + 1), {}, 8],
      [Buffer.alloc(0), {}, 12],
    ] as const) {
      const answer = await askGrpc(raw, body, headers);
      assert.equal(answer.status, expected, answer.text);
      await client.call(
        'ModelInfer',
        request('m', 'FP32', [1, 16], { raw_input_contents: [floats(...row())] }),
      );
    }
  });

  test('a message that has no room alone is too large, and one beside others has to wait', async (t) => {
    const endpoint = await grpcOf(t, await serve(t, { m: onnx() }), { maxHeldBytes: 150_000 });
    const raw = session(t, endpoint);
    const large = await askGrpc(raw, framed(Buffer.alloc(150_001)));
    assert.equal(large.status, 8);
    assert.match(large.text, /150001.*maxHeldBytes/);
    const bomb = await askGrpc(raw, framed(gzipSync(Buffer.alloc(1 << 20)), 1), { 'grpc-encoding': 'gzip' });
    assert.equal(bomb.status, 8, bomb.text);
    assert.match(bomb.text, /decompressed/);
  });
});

/** Invalid bytes of a BYTES input of shape [2], and the expected message. */
const brokenTexts: readonly (readonly [hex: string, words: string])[] = [
  ['', '0 bytes of 0 elements'],
  ['0000', '2 bytes that end within the length of element 0, which takes 4 bytes'],
  ['0100000061', '5 bytes of 1 elements'],
  ['0100000061020000', '8 bytes that end within the length of element 1, which takes 4 bytes'],
  ['01000000610200000062', '10 bytes that end within element 1: its length is 2, and 1 bytes are left'],
  ['ffffffff', '4 bytes that end within element 0: its length is 4294967295, and 0 bytes are left'],
  ['000000000000000000000000', '12 bytes of 3 elements'],
];

test('lengths of BYTES that do not fit are told of in the same words at both doors', async (t) => {
  const texts = { datatype: 'BYTES', dims: [-1] } as const;
  const server = await serve(t, {
    m: identity({
      maxBatchSize: 0,
      batching: false,
      inputs: [{ name: 'x', ...texts }],
      outputs: [{ name: 'y', ...texts }],
    }),
  });
  const http = await httpOf(t, server);
  const client = await foreign(t, await grpcOf(t, server));
  const x = { name: 'x', datatype: 'BYTES', shape: [2] };
  for (const [hex, words] of brokenTexts) {
    const raw = Buffer.from(hex, 'hex');
    const message = `model 'm', input 'x': expected BYTES of shape [-1], but got ${words} for shape [2], which has 2 elements`;
    const head = JSON.stringify({ inputs: [{ ...x, parameters: { binary_data_size: raw.length } }] });
    const { status, text } = await ask(http, '/v2/models/m/infer', {
      body: Buffer.concat([Buffer.from(head), raw]),
      headers: { 'Inference-Header-Content-Length': String(head.length) },
    });
    assert.deepEqual([status, JSON.parse(text)], [400, { error: message }]);
    const error = await failure(
      client.call('ModelInfer', { model_name: 'm', inputs: [x], raw_input_contents: [raw] }),
    );
    const code: number = error.code;
    assert.deepEqual([code, error.details], [3, message]);
  }
});
