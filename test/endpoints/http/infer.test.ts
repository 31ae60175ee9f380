/** `infer` over HTTP: JSON and binary data in every mix, options, classification, compression, raw requests. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import type { Datatype } from '../../../src/index.js';
import { anyLength, batchCountsAfter, identity, onnx, row, serve } from '../../support/harness.js';
import { ask, binaryBody, endpointOf, errorOf, exchange, json, split } from './harness.js';

const path = '/v2/models/m/infer';

/** An identity model of one input x and one output y. */
function echo(datatype: Datatype, maxBatchSize = 0): ReturnType<typeof identity> {
  const dims = [-1];
  return identity({
    maxBatchSize,
    batching: false,
    inputs: [{ name: 'x', datatype, dims }],
    outputs: [{ name: 'y', datatype, dims }],
  });
}

const input = (datatype: string, data: unknown, shape: readonly number[]): object => ({
  inputs: [{ name: 'x', datatype, shape, data }],
});

/** Elements as a client writes them, and as they come back. */
const texts: readonly (readonly [Datatype, string, string])[] = [
  ['BOOL', '[true,false]', '[true,false]'],
  ['INT8', '[-128,127]', '[-128,127]'],
  ['INT16', '[-32768,32767]', '[-32768,32767]'],
  ['INT32', '[-2147483648,2147483647]', '[-2147483648,2147483647]'],
  [
    'INT64',
    '[-9223372036854775808,9223372036854775807,9007199254740993]',
    '[-9223372036854775808,9223372036854775807,9007199254740993]',
  ],
  ['INT64', '[1,-2]', '[1,-2]'],
  ['UINT8', '[0,255]', '[0,255]'],
  ['UINT16', '[65535]', '[65535]'],
  ['UINT32', '[4294967295]', '[4294967295]'],
  ['UINT64', '[18446744073709551615,0]', '[18446744073709551615,0]'],
  ['FP32', '[1.1,1,-0.5,1e21]', '[1.100000023841858,1.0,-0.5,1.0000000200408773e+21]'],
  ['FP32', '[NaN,Infinity,-Infinity,0.25]', '[NaN,Infinity,-Infinity,0.25]'],
  ['FP32', '[9007199254740993,-0.0]', '[9007199254740992.0,-0.0]'],
  ['FP64', '[1.1,3,1e-320]', '[1.1,3.0,1e-320]'],
  ['BYTES', '["a","","é\\u0000\\"\\n","\\ud83d\\ude00"]', '["a","","é\\u0000\\"\\n","😀"]'],
];

void suite('every datatype as JSON', () => {
  for (const [datatype, sent, expected] of texts) {
    test(`${datatype} ${sent}`, async (t) => {
      const endpoint = await endpointOf(t, await serve(t, { m: echo(datatype) }));
      const shape = `[${sent.split(',').length}]`;
      const body = `{"inputs":[{"name":"x","datatype":"${datatype}","shape":${shape},"data":${sent}}]}`;
      const answer = await ask(endpoint, path, { body });
      const outputs = `[{"name":"y","datatype":"${datatype}","shape":${shape},"data":${expected}}]`;
      assert.equal(answer.text, `{"model_name":"m","model_version":"1","outputs":${outputs}}`);
      assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'application/json']);
    });
  }

  test('nested and flat arrays in any mixture', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: echo('INT64', 8) }));
    for (const data of [
      [1, 2, 3, 4],
      [
        [1, 2],
        [3, 4],
      ],
      [[[1], 2], 3, [[[4]]]],
    ]) {
      const { outputs } = json(await ask(endpoint, path, { body: input('INT64', data, [2, 2]) })) as {
        outputs: object[];
      };
      assert.deepEqual(outputs, [{ name: 'y', datatype: 'INT64', shape: [2, 2], data: [1, 2, 3, 4] }]);
    }
  });
});

void suite('every datatype as binary data', () => {
  for (const [datatype, bytes, elements] of [
    ['BOOL', '000101', 3],
    ['INT8', '80ff7f', 3],
    ['UINT16', '0100ffff', 2],
    ['INT32', '01000000ffffffff', 2],
    ['INT64', '0100000000000080', 1],
    ['FP16', '003c00c0', 2],
    ['BF16', '803f00c0', 2],
    ['FP32', '0000803f0000c07f', 2],
    ['FP64', '000000000000f03f', 1],
    ['BYTES', '02000000ff0000000000', 2],
  ] as const) {
    // A space more or less in the JSON moves the data to where such an array may not begin.
    for (const pad of ['', ' ', '  ', '   ']) {
      test(`${datatype} behind ${pad.length} spaces`, async (t) => {
        const endpoint = await endpointOf(t, await serve(t, { m: echo(datatype) }));
        const data = Buffer.from(bytes, 'hex');
        const parameters = { binary_data_size: data.length };
        const head = {
          id: pad,
          inputs: [{ name: 'x', datatype, shape: [elements], parameters }],
          outputs: [{ name: 'y', parameters: { binary_data: true } }],
        };
        const { head: answer, binary } = split(await ask(endpoint, path, binaryBody(head, data)));
        assert.deepEqual(binary, data);
        assert.deepEqual(answer['outputs'], [{ name: 'y', datatype, shape: [elements], parameters }]);
      });
    }
  }
});

/** y = x and w = v. */
const two = identity({
  inputs: [{ name: 'x' }, { name: 'v', datatype: 'INT32' }],
  outputs: [{ name: 'y' }, { name: 'w', datatype: 'INT32' }],
});

void suite('JSON and binary data in one request', () => {
  const x = Buffer.from(row().buffer);
  const v = Buffer.from(Int32Array.from({ length: 16 }, (_, i) => -i).buffer);
  const asJson = {
    x: { name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] },
    v: { name: 'v', datatype: 'INT32', shape: [1, 16], data: Array.from({ length: 16 }, (_, i) => -i) },
  };
  const asBinary = {
    x: { name: 'x', datatype: 'FP32', shape: [1, 16], parameters: { binary_data_size: 64 } },
    v: { name: 'v', datatype: 'INT32', shape: [1, 16], parameters: { binary_data_size: 64 } },
  };
  const binary = { binary_data: true };
  for (const [name, inputs, blobs] of [
    ['both binary', [asBinary.x, asBinary.v], [x, v]],
    ['both binary, the other way round', [asBinary.v, asBinary.x], [v, x]],
    ['the first JSON', [asJson.x, asBinary.v], [v]],
    ['the second JSON', [asBinary.x, asJson.v], [x]],
    ['both JSON', [asJson.v, asJson.x], []],
  ] as const) {
    for (const [wanted, outputs, parameters, expected] of [
      ['all as JSON', undefined, undefined, []],
      ['all as binary', undefined, { binary_data_output: true }, [x, v]],
      ['none listed, all as binary', [], { binary_data_output: true }, [x, v]],
      ['one of each', [{ name: 'w', parameters: binary }, { name: 'y' }], undefined, [v]],
      ['a listed one does not follow binary_data_output', [{ name: 'y' }], { binary_data_output: true }, []],
      ['one alone', [{ name: 'y', parameters: binary }], undefined, [x]],
    ] as const) {
      test(`${name}; ${wanted}`, async (t) => {
        const endpoint = await endpointOf(t, await serve(t, { m: two }));
        const body = binaryBody({ id: 'é', inputs, outputs, parameters }, ...blobs);
        const answer = split(await ask(endpoint, path, body));
        assert.equal(answer.head['id'], 'é');
        assert.deepEqual(answer.binary, Buffer.concat(expected));
        const given = answer.head['outputs'] as { name: string; data?: number[] }[];
        for (const { name: output, data } of given) {
          if (data !== undefined)
            assert.deepEqual(data, output === 'y' ? asJson.x.data : asJson.v.data.map((n) => n + 0));
        }
        assert.equal(given.length, outputs?.length || 2);
      });
    }
  }
});

test('large tensors go both ways unchanged', async (t) => {
  const endpoint = await endpointOf(
    t,
    await serve(t, { m: identity({ maxBatchSize: 0, batching: false, ...anyLength }) }),
  );
  const data = Buffer.from(Float32Array.from({ length: 1_000_000 }, (_, i) => i).buffer);
  for (const name of ['x', 'x ', 'x  ']) {
    const head = {
      id: name,
      inputs: [
        { name: 'x', datatype: 'FP32', shape: [1_000_000], parameters: { binary_data_size: data.length } },
      ],
      parameters: { binary_data_output: true },
    };
    assert.ok(split(await ask(endpoint, path, binaryBody(head, data))).binary.equals(data));
    // In chunks.
    const { body, headers } = binaryBody(head, data);
    const chunked = await ask(endpoint, path, {
      body,
      headers: { ...headers, 'Transfer-Encoding': 'chunked' },
    });
    assert.ok(split(chunked).binary.equals(data));
  }
});

test('a raw binary request is the only input’s data', async (t) => {
  const server = await serve(t, {
    m: identity(),
    text: identity({
      maxBatchSize: 0,
      batching: false,
      inputs: [{ name: 'x', datatype: 'BYTES', dims: [1] }],
      outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
    }),
    any: identity({ maxBatchSize: 0, batching: false, ...anyLength }),
    two,
  });
  const endpoint = await endpointOf(t, server);
  const raw = (model: string, body: Uint8Array, size = '0'): ReturnType<typeof ask> =>
    ask(endpoint, `/v2/models/${model}/infer`, {
      body,
      headers: { 'Inference-Header-Content-Length': size },
    });
  const bytes = Buffer.from(row().buffer);
  assert.deepEqual(split(await raw('m', bytes)).binary, bytes);
  assert.deepEqual(split(await raw('m', bytes, 'x')).binary, bytes);
  assert.deepEqual(split(await raw('any', bytes)).binary, bytes);
  assert.deepEqual(split(await raw('text', Buffer.from('hé'))).binary, Buffer.from('\x03\0\0\0hé'));
  errorOf(await raw('two', bytes), 400);
  errorOf(await raw('m', bytes.subarray(4)), 400);
  errorOf(await raw('any', bytes.subarray(1)), 400);
});

test('classification returns the best values with their labels', async (t) => {
  const labelled = onnx();
  const server = await serve(t, { m: labelled });
  const endpoint = await endpointOf(t, server);
  const classes = async (classification: unknown, more: object = {}): ReturnType<typeof ask> =>
    ask(endpoint, path, {
      body: {
        ...input('FP32', [...row(), ...row(3)], [2, 16]),
        outputs: [{ name: 'y', parameters: { classification, ...more } }],
      },
    });
  const { outputs } = json(await classes(2)) as { outputs: object[] };
  assert.deepEqual(outputs, [
    {
      name: 'y',
      datatype: 'BYTES',
      shape: [2, 2],
      data: ['16.000000:15', '15.000000:14', '19.000000:15', '18.000000:14'],
    },
  ]);
  const [first] = (json(await classes(99)) as { outputs: { shape: number[] }[] }).outputs;
  assert.deepEqual(first?.shape, [2, 16]);
  const [off] = (json(await classes(0)) as { outputs: { datatype: string }[] }).outputs;
  assert.equal(off?.datatype, 'FP32');
  const { binary } = split(await classes(1, { binary_data: true }));
  assert.deepEqual(binary, Buffer.from('\x0c\0\0\x0016.000000:15\x0c\0\0\x0019.000000:15', 'latin1'));
  errorOf(await classes('1'), 400);
  errorOf(await classes(-1), 400);
});

void suite('compression', () => {
  const body = { ...input('FP32', [...row()], [1, 16]), parameters: { binary_data_output: true } };
  const plain = Buffer.from(JSON.stringify(body));

  test('requests may be gzip or deflate, whatever their header says', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(plain)],
      ['deflate', deflateSync(plain)],
      ['gzip', deflateSync(plain)],
      ['identity', plain],
      ['', plain],
    ] as const) {
      const answer = await ask(endpoint, path, { body: bytes, headers: { 'Content-Encoding': encoding } });
      assert.deepEqual(split(answer).binary, Buffer.from(row().buffer));
    }
    const data = Buffer.from(row().buffer);
    const { body: both, headers } = binaryBody(
      {
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], parameters: { binary_data_size: 64 } }],
        parameters: { binary_data_output: true },
      },
      data,
    );
    const zipped = gzipSync(both as Buffer);
    const answer = await ask(endpoint, path, {
      body: zipped,
      headers: { ...headers, 'Content-Encoding': 'gzip' },
    });
    assert.deepEqual(split(answer).binary, data);
  });

  test('what cannot be decompressed, and other encodings', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    const broken = await ask(endpoint, path, { body: plain, headers: { 'Content-Encoding': 'gzip' } });
    assert.match(errorOf(broken, 400), /cannot be decompressed/);
    const cut = await ask(endpoint, path, {
      body: gzipSync(plain).subarray(0, 40),
      headers: { 'Content-Encoding': 'gzip' },
    });
    errorOf(cut, 400);
    const other = await ask(endpoint, path, { body: plain, headers: { 'Content-Encoding': 'br' } });
    assert.equal(errorOf(other, 415), 'Unsupported compression type');
    assert.equal(other.headers['accept-encoding'], 'gzip, deflate');
  });

  test('answers are compressed as the client likes best', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    for (const [accepted, expected] of [
      ['gzip', 'gzip'],
      ['deflate, gzip', 'deflate'],
      ['br;q=1.0, gzip;q=0.2, deflate;q=0.8', 'deflate'],
      ['gzip;q=0.5, identity', undefined],
      ['br', undefined],
      ['*', undefined],
      ['gzip;q=0', undefined],
    ] as const) {
      const answer = await ask(endpoint, path, { body, headers: { 'Accept-Encoding': accepted } });
      assert.equal(answer.headers['content-encoding'], expected, accepted);
      const unzip = expected === 'gzip' ? gunzipSync : inflateSync;
      const bytes = expected === undefined ? answer.body : unzip(answer.body);
      const size = Number(answer.headers['inference-header-content-length']);
      assert.deepEqual(bytes.subarray(size), Buffer.from(row().buffer));
    }
  });
});

test('parameters are passed on, and headers that are forwarded', async (t) => {
  const dims = [-1];
  const config = {
    max_batch_size: 0,
    input: [{ name: 'x', data_type: 'TYPE_INT32', dims: [1] }],
    output: [{ name: 'y', data_type: 'TYPE_STRING', dims }],
  } as const;
  const { createServer } = await import('../../../src/index.js');
  const server = await createServer({
    models: {
      m: {
        config,
        execute: (requests) =>
          requests.map(({ parameters }) => ({
            y: Object.entries(parameters)
              .map(([key, value]) => `${key}=${typeof value}:${String(value)}`)
              .sort(),
          })),
      },
    },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const endpoint = await endpointOf(t, server, { headerForwardPattern: /^my-|^priority$/i });
  const send = (parameters: string, headers: Record<string, string> = {}): ReturnType<typeof ask> =>
    ask(endpoint, path, {
      body: `{"inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[1]}],"parameters":${parameters}}`,
      headers,
    });
  const told = async (parameters: string, headers?: Record<string, string>): Promise<unknown> =>
    (json(await send(parameters, headers)) as { outputs: { data: unknown }[] }).outputs[0]?.data;
  assert.deepEqual(
    await told(
      '{"s":"é","i":9223372036854775807,"b":true,"f":0.5,"n":3,"__proto__":1,"priority":0,"timeout":5}',
    ),
    [
      '__proto__=bigint:1',
      'b=boolean:true',
      'f=number:0.5',
      'i=bigint:9223372036854775807',
      'n=bigint:3',
      's=string:é',
    ].sort(),
  );
  assert.deepEqual(await told('{}', { 'My-Key': 'v', Other: 'w' }), ['My-Key=string:v']);
  for (const [parameters, status] of [
    ['{"a":null}', 400],
    ['{"a":[1]}', 400],
    ['{"a":{}}', 400],
    ['{"i":9223372036854775808}', 400],
    ['{"triton_x":1}', 400],
    ['{"triton_enable_empty_final_response":true}', 400],
    ['{"headers":"x"}', 400],
    ['{"priority":-1}', 400],
    ['{"priority":"1"}', 400],
    ['{"timeout":1.5}', 400],
    ['{"timeout":18446744073709551615}', 400],
    ['{"binary_data_output":1}', 400],
    ['{"sequence_id":-5}', 400],
    ['{"sequence_id":18446744073709551616}', 400],
    ['{"sequence_id":true}', 400],
    [`{"sequence_id":"${'a'.repeat(129)}"}`, 501],
    ['{"sequence_start":1}', 400],
    ['{"sequence_end":"true"}', 400],
    ['5', 400],
  ] as const) {
    errorOf(await send(parameters), status);
  }
  assert.deepEqual(await told('{"sequence_id":0,"sequence_start":false}'), []);
  assert.match(errorOf(await send('{}', { Priority: '1' }), 400), /cannot be forwarded/);
});

void suite('wrong requests are told, and are the client’s fault', () => {
  const x = { name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] };
  for (const [name, body, status, message] of [
    ['no body', '', 400, /JSON/],
    ['no JSON', '{"inputs":', 400, /JSON/],
    ['no object', '[]', 400, /an object/],
    ['no inputs', {}, 400, /inputs/],
    ['inputs of another type', { inputs: {} }, 400, /an array for 'inputs'/],
    ['an input without a name', { inputs: [{ ...x, name: undefined }] }, 400, /name/],
    [
      'a datatype that does not exist',
      { inputs: [{ ...x, datatype: 'FP8' }] },
      400,
      /unknown datatype 'FP8'/,
    ],
    [
      'a datatype of Object.prototype',
      { inputs: [{ ...x, datatype: 'constructor' }] },
      400,
      /unknown datatype/,
    ],
    ['another datatype', { inputs: [{ ...x, datatype: 'INT32' }] }, 400, /FP32/],
    ['no shape', { inputs: [{ ...x, shape: undefined }] }, 400, /shape/],
    ['a shape of strings', { inputs: [{ ...x, shape: ['1', 16] }] }, 400, /shape/],
    ['a negative dim', { inputs: [{ ...x, shape: [-1, 16] }] }, 400, /dims of 0 or more/],
    ['another shape', { inputs: [{ ...x, shape: [16] }] }, 400, /\[N,16\]/],
    [
      'a batch that is too large',
      { inputs: [{ ...x, shape: [65, 16], data: Array(65 * 16).fill(0) }] },
      400,
      /max_batch_size/,
    ],
    ['too few elements', { inputs: [{ ...x, data: [1] }] }, 400, /expected 16 elements .* received 1/],
    ['a shape far beyond the data', { inputs: [{ ...x, shape: [1, 2 ** 40] }] }, 400, /elements/],
    ['a string among numbers', { inputs: [{ ...x, data: ['1', ...row(1, 15)] }] }, 400, /element 0/],
    ['null among numbers', { inputs: [{ ...x, data: [null, ...row(1, 15)] }] }, 400, /element 0/],
    [
      'a number beyond FP32',
      { inputs: [{ ...x, data: [1e39, ...row(1, 15)] }] },
      400,
      /out of the range of FP32/,
    ],
    ['data that is no array', { inputs: [{ ...x, data: 5 }] }, 400, /an array/],
    ['neither data nor its size', { inputs: [{ ...x, data: undefined }] }, 400, /none of them/],
    ['both', { inputs: [{ ...x, parameters: { binary_data_size: 64 } }] }, 400, /more than one/],
    [
      'a size beyond the body',
      { inputs: [{ ...x, data: undefined, parameters: { binary_data_size: 64 } }] },
      400,
      /unexpected size/,
    ],
    [
      'a size that is no number',
      { inputs: [{ ...x, data: undefined, parameters: { binary_data_size: '64' } }] },
      400,
      /binary_data_size/,
    ],
    [
      'shared memory',
      { inputs: [{ ...x, data: undefined, parameters: { shared_memory_region: 'r' } }] },
      404,
      /shared memory/,
    ],
    [
      'shared memory of an output',
      { inputs: [x], outputs: [{ name: 'y', parameters: { shared_memory_region: 'r' } }] },
      404,
      /shared memory/,
    ],
    ['an unknown input', { inputs: [x, { ...x, name: 'z' }] }, 400, /no input is named 'z'/],
    ['an input twice', { inputs: [x, x] }, 400, /twice/],
    ['a missing input', { inputs: [] }, 400, /missing 'x'/],
    ['an unknown output', { inputs: [x], outputs: [{ name: 'z' }] }, 400, /unknown output 'z'/],
    ['an output twice', { inputs: [x], outputs: [{ name: 'y' }, { name: 'y' }] }, 400, /twice/],
    ['an id that is no string', { id: 5, inputs: [x] }, 400, /id/],
    ['an id that is too long', { id: 'x'.repeat(5000), inputs: [x] }, 400, /4096/],
  ] as const) {
    test(name, async (t) => {
      const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
      const told = errorOf(await ask(endpoint, path, { body }), status);
      assert.match(told, message);
      assert.match(told, /^model 'm'[,:] |of model 'm'/);
      json(await ask(endpoint, path, { body: { inputs: [x] } }));
    });
  }

  test('integers', async (t) => {
    const server = await serve(t, {
      i: echo('INT32'),
      u: echo('UINT8'),
      l: echo('INT64'),
      b: echo('BOOL'),
      s: echo('BYTES'),
      h: echo('FP16'),
    });
    const endpoint = await endpointOf(t, server);
    for (const [model, datatype, data, status] of [
      ['i', 'INT32', '1.0', 400],
      ['i', 'INT32', '1e2', 400],
      ['i', 'INT32', '2147483648', 400],
      ['i', 'INT32', '99999999999999999999', 400],
      ['u', 'UINT8', '-1', 400],
      ['u', 'UINT8', '256', 400],
      ['l', 'INT64', '9223372036854775808', 400],
      ['l', 'INT64', `1${'0'.repeat(100)}`, 400],
      ['l', 'INT64', '1e3', 400],
      ['b', 'BOOL', '1', 400],
      ['s', 'BYTES', '1', 400],
      ['s', 'BYTES', '"\\ud800"', 400],
      ['h', 'FP16', '1', 400],
    ] as const) {
      const body = `{"inputs":[{"name":"x","datatype":"${datatype}","shape":[1],"data":[${data}]}]}`;
      errorOf(await ask(endpoint, `/v2/models/${model}/infer`, { body }), status);
    }
  });

  test('outputs that JSON cannot carry', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { h: echo('FP16'), s: echo('BYTES') }));
    for (const [model, datatype, bytes] of [
      ['h', 'FP16', '003c'],
      ['s', 'BYTES', '01000000ff'],
    ] as const) {
      const data = Buffer.from(bytes, 'hex');
      const head = {
        inputs: [{ name: 'x', datatype, shape: [1], parameters: { binary_data_size: data.length } }],
      };
      assert.match(
        errorOf(await ask(endpoint, `/v2/models/${model}/infer`, binaryBody(head, data)), 400),
        /binary data/,
      );
    }
  });
});

test('requests that arrive together run in one batch', async (t) => {
  const server = await serve(t, { m: identity() });
  const endpoint = await endpointOf(t, server);
  const body = JSON.stringify(input('FP32', [...row()], [1, 16]));
  const one = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const text = await exchange(t, endpoint, one.repeat(8), /(?:HTTP\/1\.1 200 OK[^]*){8}\]\}\]\}$/);
  assert.equal(text.split('HTTP/1.1 200 OK').length, 9);
  assert.deepEqual(await batchCountsAfter(server, 'm', 8), { 8: 1 });
});
