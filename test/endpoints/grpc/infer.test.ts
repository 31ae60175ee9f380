/** ModelInfer over gRPC, with a third-party client. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { readContents } from '../../../src/protocol/protobuf/contents.js';
import { ProtoReader } from '../../../src/protocol/protobuf/reader.js';
import { identity, onnx, row, serve } from '../../support/harness.js';
import { endpointOf, failure, floats, floatsOf, foreign, type Fields } from './harness.js';

const input = (more: Fields = {}): Fields => ({ name: 'x', datatype: 'FP32', shape: [1, 16], ...more });
const raw = Buffer.from(row().buffer);
const good: Fields = { model_name: 'm', inputs: [input()], raw_input_contents: [raw] };

test('raw and typed contents, and everything that is echoed', async (t) => {
  const server = await serve(t, { m: onnx() });
  const client = await foreign(t, await endpointOf(t, server));
  const answer = await client.call('ModelInfer', { ...good, id: 'é1', model_version: '1' });
  assert.deepEqual(answer, {
    model_name: 'm',
    model_version: '1',
    id: 'é1',
    outputs: [{ name: 'y', datatype: 'FP32', shape: ['1', '16'] }],
    raw_output_contents: [floats(...[...row()].map((value) => value + 1))],
  });
  const typed = await client.call('ModelInfer', {
    model_name: 'm',
    model_version: '-1',
    inputs: [input({ contents: { fp32_contents: [...row()] } })],
    outputs: [{ name: 'y' }],
  });
  assert.deepEqual(typed['raw_output_contents'], answer['raw_output_contents']);
});

test('requests of one turn run in one batch', async (t) => {
  const server = await serve(t, { m: onnx() });
  const client = await foreign(t, await endpointOf(t, server));
  await client.call('ModelInfer', good);
  const before = server.statistics('m')[0]?.execution_count ?? 0;
  await Promise.all(Array.from({ length: 64 }, () => client.call('ModelInfer', good)));
  const batches = (server.statistics('m')[0]?.execution_count ?? 0) - before;
  assert.ok(batches < 32, `${batches} batches`);
});

const datatypes: readonly (readonly [string, string | undefined, readonly unknown[], Buffer])[] = [
  ['BOOL', 'bool_contents', [true, false], Buffer.from([1, 0])],
  ['INT8', 'int_contents', [-1, 127], Buffer.from(Int8Array.of(-1, 127).buffer)],
  ['INT16', 'int_contents', [-2, 300], Buffer.from(Int16Array.of(-2, 300).buffer)],
  ['INT32', 'int_contents', [-3, 70000], Buffer.from(Int32Array.of(-3, 70000).buffer)],
  [
    'INT64',
    'int64_contents',
    ['-9223372036854775808', '5'],
    Buffer.from(BigInt64Array.of(-(2n ** 63n), 5n).buffer),
  ],
  ['UINT8', 'uint_contents', [0, 255], Buffer.from([0, 255])],
  ['UINT16', 'uint_contents', [1, 65535], Buffer.from(Uint16Array.of(1, 65535).buffer)],
  ['UINT32', 'uint_contents', [1, 4294967295], Buffer.from(Uint32Array.of(1, 4294967295).buffer)],
  [
    'UINT64',
    'uint64_contents',
    ['18446744073709551615', '0'],
    Buffer.from(BigUint64Array.of(2n ** 64n - 1n, 0n).buffer),
  ],
  ['FP32', 'fp32_contents', [1.5, Infinity], floats(1.5, Infinity)],
  ['FP64', 'fp64_contents', [0.1, -1e300], Buffer.from(Float64Array.of(0.1, -1e300).buffer)],
  [
    'BYTES',
    'bytes_contents',
    [Buffer.from('a\0é'), Buffer.alloc(0)],
    Buffer.from('\x04\0\0\0a\0\xc3\xa9\0\0\0\0', 'latin1'),
  ],
  ['FP16', undefined, [], Buffer.from(Uint16Array.of(0x3c00, 0xc000).buffer)],
  ['BF16', undefined, [], Buffer.from(Uint16Array.of(0x3f80, 0xc000).buffer)],
];

const outside: readonly (readonly [string, string, readonly (number | string)[]])[] = [
  ['INT8', 'int_contents', [128, -129, 2 ** 31 - 1]],
  ['INT16', 'int_contents', [32768, -32769]],
  ['UINT8', 'uint_contents', [300, 256, 2 ** 32 - 1]],
  ['UINT16', 'uint_contents', [65536]],
];

test('typed contents out of range are refused, and never cut', async (t) => {
  for (const [datatype, list, values] of outside) {
    const tensor = { datatype: datatype as 'FP32', dims: [-1] };
    const model = identity({
      maxBatchSize: 0,
      batching: false,
      inputs: [{ name: 'x', ...tensor }],
      outputs: [{ name: 'y', ...tensor }],
    });
    const client = await foreign(t, await endpointOf(t, await serve(t, { m: model })));
    for (const value of values) {
      const x = { name: 'x', datatype, shape: [2], contents: { [list]: [1, value] } };
      const error = await failure(client.call('ModelInfer', { model_name: 'm', inputs: [x] }));
      assert.equal(error.code, status.INVALID_ARGUMENT);
      assert.equal(
        error.details,
        `model 'm', input 'x', element 1: ${value} is out of the range of ${datatype}`,
      );
    }
  }
});

test('integers beyond 32 bits in a list of 32 bits are refused, for inputs and in answers', () => {
  for (const [datatype, field] of [
    ['INT32', 2],
    ['UINT32', 4],
  ] as const)
    for (const what of ['input', 'output'] as const) {
      const bytes = Buffer.from([field << 3, 0x80, 0x80, 0x80, 0x80, 0x20]); // 2^33
      assert.throws(() => readContents(what, 'x', datatype, [1], new ProtoReader(bytes)), {
        code: 'INVALID_ARG',
        message: `${what} 'x', element 0: 8589934592 is out of the range of ${datatype}`,
      });
    }
});

void suite('every datatype', async () => {
  for (const [datatype, list, values, bytes] of datatypes) {
    await test(datatype, async (t) => {
      const tensor = { datatype: datatype as 'FP32', dims: [-1] };
      const model = identity({
        maxBatchSize: 0,
        batching: false,
        inputs: [{ name: 'x', ...tensor }],
        outputs: [{ name: 'y', ...tensor }],
      });
      const client = await foreign(t, await endpointOf(t, await serve(t, { m: model })));
      const x = { name: 'x', datatype, shape: [2] };
      const answer = await client.call('ModelInfer', {
        model_name: 'm',
        inputs: [x],
        raw_input_contents: [bytes],
      });
      assert.deepEqual(answer['raw_output_contents'], [bytes]);
      assert.deepEqual(answer['outputs'], [{ name: 'y', datatype, shape: ['2'] }]);
      if (list === undefined) {
        const error = await failure(
          client.call('ModelInfer', {
            model_name: 'm',
            inputs: [{ ...x, contents: { fp32_contents: [1, 2] } }],
          }),
        );
        assert.equal(error.code, status.INVALID_ARGUMENT);
        return;
      }
      const typed = { ...x, contents: { [list]: values } };
      const same = await client.call('ModelInfer', { model_name: 'm', inputs: [typed] });
      assert.deepEqual(same['raw_output_contents'], [bytes]);
      const empty = await client.call('ModelInfer', { model_name: 'm', inputs: [{ ...x, shape: [0] }] });
      assert.deepEqual(empty['outputs'], [{ name: 'y', datatype, shape: ['0'] }]);
    });
  }
});

test('classification', async (t) => {
  const model = identity();
  const client = await foreign(t, await endpointOf(t, await serve(t, { m: model })));
  const classes = (choice: Fields): Fields => ({
    ...good,
    outputs: [{ name: 'y', parameters: { classification: choice } }],
  });
  const answer = await client.call('ModelInfer', classes({ int64_param: 2 }));
  assert.deepEqual(answer['outputs'], [{ name: 'y', datatype: 'BYTES', shape: ['1', '2'] }]);
  for (const wrong of [{ int64_param: 0 }, { int64_param: -1 }, { bool_param: true }, { uint64_param: 1 }]) {
    const error = await failure(client.call('ModelInfer', classes(wrong)));
    assert.equal(error.code, status.INVALID_ARGUMENT, JSON.stringify(wrong));
  }
});

test('what a request cannot say is INVALID_ARGUMENT, and an unknown model NOT_FOUND', async (t) => {
  const server = await serve(t, { m: onnx() });
  const client = await foreign(t, await endpointOf(t, server));
  const parameter = (name: string, value: Fields): Fields => ({ ...good, parameters: { [name]: value } });
  const wrong: readonly [Fields, number, RegExp][] = [
    [{ ...good, model_name: 'no' }, status.NOT_FOUND, /unknown model/],
    [{ ...good, model_version: '9' }, status.NOT_FOUND, /version 9/],
    [{ ...good, model_version: 'x' }, status.INVALID_ARGUMENT, /'x'/],
    [
      { ...good, raw_input_contents: [] },
      status.INVALID_ARGUMENT,
      /unable to find data for input tensor 'x'/,
    ],
    [{ ...good, raw_input_contents: [raw.subarray(1)] }, status.INVALID_ARGUMENT, /63/],
    [{ ...good, inputs: [input({ datatype: 'FP31' })] }, status.INVALID_ARGUMENT, /FP31/],
    [{ ...good, inputs: [input({ shape: [-1, 16] })] }, status.INVALID_ARGUMENT, /-1/],
    [
      { ...good, inputs: [input(), input()], raw_input_contents: [raw, raw] },
      status.INVALID_ARGUMENT,
      /twice/,
    ],
    [{ ...good, inputs: [input({ contents: { fp32_contents: [1] } })] }, status.INVALID_ARGUMENT, /both/],
    [
      { model_name: 'm', inputs: [input({ contents: { int_contents: [1] } })] },
      status.INVALID_ARGUMENT,
      /fp32_contents but received int_contents/,
    ],
    [
      { model_name: 'm', inputs: [input({ contents: { fp32_contents: [1] } })] },
      status.INVALID_ARGUMENT,
      /16/,
    ],
    [
      {
        ...good,
        inputs: [
          input({
            parameters: {
              shared_memory_region: { string_param: 'a' },
              shared_memory_byte_size: { int64_param: '64' },
            },
          }),
        ],
      },
      status.NOT_FOUND,
      /shared memory/,
    ],
    [parameter('triton_x', { bool_param: true }), status.INVALID_ARGUMENT, /reserved/],
    [parameter('timeout', { string_param: '1' }), status.INVALID_ARGUMENT, /timeout/],
    [parameter('other', { uint64_param: 1 }), status.INVALID_ARGUMENT, /uint64_param/],
    [parameter('sequence_id', { string_param: 'x'.repeat(129) }), status.UNIMPLEMENTED, /128 bytes/],
    [parameter('sequence_id', { bool_param: true }), status.INVALID_ARGUMENT, /int64_param or uint64_param/],
    [parameter('sequence_start', { int64_param: 1 }), status.INVALID_ARGUMENT, /bool_param/],
    [{ ...good, outputs: [{ name: 'z' }] }, status.INVALID_ARGUMENT, /'z'/],
  ];
  const notFound: number = status.NOT_FOUND;
  for (const [request, code, text] of wrong) {
    const error = await failure(client.call('ModelInfer', request));
    assert.equal(error.code, code, error.message);
    assert.match(error.details, text);
    if (code !== notFound) assert.match(error.details, /^model 'm'[,:] |of model 'm'/);
  }
  // Surplus contents are ignored, as in Triton.
  await client.call('ModelInfer', { ...good, raw_input_contents: [raw, raw] });
});

test('parameters and forwarded metadata come to the model and back', async (t) => {
  const { createServer } = await import('../../../src/index.js');
  const server = await createServer({
    models: {
      m: {
        config: {
          max_batch_size: 0,
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [-1] }],
          output: [{ name: 'y', data_type: 'TYPE_STRING', dims: [1] }],
        },
        execute: (requests) =>
          requests.map(({ parameters }) => ({
            y: [
              JSON.stringify(parameters, (_, value: unknown) =>
                typeof value === 'bigint' ? `${value}n` : value,
              ),
            ],
          })),
      },
    },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  const client = await foreign(t, await endpointOf(t, server, { headerForwardPattern: /^(my-|timeout)/ }));
  const request = {
    model_name: 'm',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1] }],
    raw_input_contents: [floats(1)],
    parameters: {
      a: { int64_param: '-9007199254740993' },
      b: { double_param: 1.5 },
      c: { string_param: 'é' },
      d: { bool_param: true },
      priority: { uint64_param: 1 },
      timeout: { int64_param: 5_000_000 },
      sequence_id: { int64_param: 0 },
    },
  };
  const many = Object.fromEntries(Array.from({ length: 4097 }, (_, i) => [`p${i}`, { bool_param: true }]));
  await assert.rejects(
    client.call('ModelInfer', { ...request, parameters: many }),
    /more parameters than the limit of 4096/,
  );
  const answer = await client.call('ModelInfer', request, { metadata: { 'my-key': 'v', other: 'w' } });
  const [bytes] = answer['raw_output_contents'] as Buffer[];
  assert.deepEqual(JSON.parse(String(bytes?.subarray(4))), {
    a: '-9007199254740993n',
    b: 1.5,
    c: 'é',
    d: true,
    'my-key': 'v',
  });
  const error = await failure(client.call('ModelInfer', request, { metadata: { timeout: '1' } }));
  assert.equal(error.code, status.INVALID_ARGUMENT);
});

test('large tensors come in pieces and go out as they are', async (t) => {
  const dims = [-1];
  const model = identity({
    maxBatchSize: 0,
    batching: false,
    inputs: [{ name: 'x', dims }],
    outputs: [{ name: 'y', dims }],
  });
  const client = await foreign(t, await endpointOf(t, await serve(t, { m: model })));
  const values = Float32Array.from({ length: 1_000_003 }, (_, i) => i);
  const answer = await client.call('ModelInfer', {
    model_name: 'm',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [values.length] }],
    raw_input_contents: [Buffer.from(values.buffer)],
  });
  const [bytes] = answer['raw_output_contents'] as Buffer[];
  assert.ok(bytes?.equals(Buffer.from(values.buffer)) === true);
  assert.equal(floatsOf(bytes.subarray(-4))[0], 1_000_002);
});
