import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, type LoadEvent } from '../../src/index.js';
import { checkRepository } from '../../src/registry/check-repository.js';
import { addModel, failingModel, identityModel, tableRows } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import {
  configText,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  type ConfigOptions,
} from '../support/harness.js';

/** Text of a sample with one input. */
function sample(input: string, more = 'batch_size: 1', name = 'x'): string {
  return `model_warmup { name: "first" ${more} inputs { key: "${name}" value { ${input} } } }`;
}

const zeros = 'data_type: TYPE_FP32 dims: 16 zero_data: true';
const fromFile = 'data_type: TYPE_FP32 dims: 16 input_data_file: "x.bin"';

/** The bytes of numbers. */
function bytes(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer);
}

/** Strings in the form of a sample's file. */
function strings(...values: readonly string[]): Uint8Array {
  return Buffer.concat(
    values.flatMap((value) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(value));
      return [length, Buffer.from(value)];
    }),
  );
}

function withFile(options: ConfigOptions, content: Uint8Array, file = 'x.bin'): RepositoryModel {
  return { ...onnx(addModel(), options), files: { [`warmup/${file}`]: content } };
}

test('every instance runs every sample before the model is ready, and the statistics count it', async (t) => {
  const more = `${sample(zeros, 'batch_size: 3 count: 2')}\n${sample(zeros, 'batch_size: 1')}\n${sample(zeros, 'batch_size: 0 count: 9')}`;
  const server = await serve(t, {
    add: onnx(addModel(), { more, instances: 2 }),
    echo: identity({ more, instances: 2 }),
  });
  for (const name of ['add', 'echo']) {
    const statistics = server.model(name).statistics();
    // Two instances, of each two batches of three requests, and one of one.
    assert.equal(statistics.execution_count, 6, name);
    assert.equal(statistics.inference_count, 14, name);
    assert.equal(statistics.inference_stats.success.count, 14, name);
    assert.equal(statistics.inference_stats.fail.count, 0, name);
    assert.deepEqual(
      statistics.batch_stats.map(({ batch_size: size, compute_infer: infer }) => [size, infer.count]),
      [
        [1, 2],
        [3, 4],
      ],
      name,
    );
  }
  assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
});

test('a model without a batch dimension is warmed up with one request at a time', async (t) => {
  const more = sample(zeros, 'batch_size: 1 count: 2');
  const server = await serve(t, { echo: identity({ maxBatchSize: 0, more, batching: false }) });
  assert.equal(server.model('echo').statistics().execution_count, 2);
});

test('the first request of a model that was warmed up reads nothing that the load left', async (t) => {
  const warmed = onnx(addModel(), { more: sample(zeros) });
  const server = await serve(
    t,
    { warmed, again: warmed, cold: onnx() },
    { modelControlMode: 'explicit', loadModels: ['warmed', 'cold'] },
  );
  await server.loadModel('again');
  const parse = t.mock.method(JSON, 'parse');
  for (const [model, reads] of [
    ['warmed', 0],
    ['again', 0],
    ['cold', 1],
  ] as const) {
    parse.mock.resetCalls();
    await server.infer(model, { x: row() });
    assert.equal(parse.mock.callCount(), reads, model);
  }
});

test('onProgress hears of a warm-up', async (t) => {
  const events: LoadEvent[] = [];
  await serve(
    t,
    { m: onnx(addModel(), { more: sample(zeros) }), plain: onnx() },
    { onProgress: (event) => events.push(event) },
  );
  assert.deepEqual(
    events.filter(({ model }) => model === 'm').map(({ version = '', state }) => `${version} ${state}`),
    [' LOADING', '1 LOADING', '1 WARMING_UP', '1 READY'],
  );
  assert.ok(events.every(({ model, state }) => model === 'm' || state !== 'WARMING_UP'));
});

test('a listener that throws at the warm-up gives it up', async (t) => {
  const fault = new Error('no more');
  const folder = await writeRepository(await temporaryFolder(t), {
    m: onnx(addModel(), { more: sample(zeros, 'batch_size: 1 count: 4000000000') }),
  });
  const onProgress = ({ state }: LoadEvent): void => {
    if (state === 'WARMING_UP') throw fault;
  };
  await assert.rejects(createServer(folder, { onProgress }), fault);
});

for (const [what, model] of [
  ['a file', withFile({ more: sample(fromFile) }, bytes(row(3)))],
  [
    'a file in a folder, with its path in parts',
    withFile(
      { more: sample('data_type: TYPE_FP32 dims: 16 input_data_file: "./a/../deep/x.bin"') },
      bytes(row()),
      'deep/x.bin',
    ),
  ],
  ['random bytes', onnx(addModel(), { more: sample('data_type: TYPE_FP32 dims: 16 random_data: true') })],
  [
    'zeros, whatever the value of the field',
    onnx(addModel(), { more: sample('data_type: TYPE_FP32 dims: 16 zero_data: false') }),
  ],
  ...(['zero_data: true', 'random_data: true', 'input_data_file: "x.bin"'] as const).map(
    (data) =>
      [
        `strings, ${data}`,
        {
          ...onnx(identityModel('BYTES', ['N', 3]), {
            inputs: [{ name: 'x', datatype: 'BYTES', dims: [3] }],
            outputs: [{ name: 'y', datatype: 'BYTES', dims: [3] }],
            more: sample(`data_type: TYPE_STRING dims: 3 ${data}`, 'batch_size: 2'),
          }),
          files: { 'warmup/x.bin': strings('é', '', 'a long one') },
        },
      ] as const,
  ),
] as const) {
  test(`a sample may be ${what}`, async (t) => {
    const server = await serve(t, { m: model });
    assert.ok(server.model('m').statistics().inference_stats.success.count > 0);
  });
}

test('a sample is of the shape that callers use where the model has another one', async (t) => {
  const config = `backend: "identity" max_batch_size: 4
    input { name: "x" data_type: TYPE_FP32 dims: [ 2, 8 ] reshape { shape: 16 } }
    output { name: "y" data_type: TYPE_FP32 dims: 16 }
    ${sample('data_type: TYPE_FP32 dims: [ 2, 8 ] zero_data: true', 'batch_size: 4')}`;
  const server = await serve(t, { m: { config, versions: { '1': {} } } });
  assert.equal(server.model('m').statistics().inference_count, 4);
});

test('a completed configuration is warmed up, an optional input may be missing', async (t) => {
  const config = sample(zeros);
  const server = await serve(t, {
    completed: { config, versions: { '1': addModel() } },
    optional: identity({
      more: `input { name: "z" data_type: TYPE_FP32 dims: 1 optional: true }\n${sample(zeros)}`,
      batching: false,
    }),
  });
  assert.equal(server.model('completed').statistics().inference_count, 1);
  assert.equal(server.model('optional').statistics().inference_count, 1);
});

test('models that are given have their files from memory', async (t) => {
  const config = {
    backend: 'onnxruntime',
    max_batch_size: 4,
    model_warmup: [
      { batch_size: 1, inputs: { x: { data_type: 'TYPE_FP32', dims: [16], input_data_file: 'x.bin' } } },
    ],
  } as const;
  for (const files of [
    { '1/model.onnx': addModel(), 'warmup/x.bin': bytes(row()) },
    { 'model.onnx': addModel(), 'warmup/x.bin': bytes(row()) },
  ]) {
    const server = await createServer({ models: { m: { config, files } } });
    t.after(() => server.close());
    assert.equal(server.model('m').statistics().inference_count, 1);
  }
  const error = await rejection(
    createServer({ models: { m: { config, files: { 'model.onnx': addModel() } } } }),
  );
  assert.match(error.message, /warmup.x\.bin cannot be read: it is not among the given files/);
  const short = { 'model.onnx': addModel(), 'warmup/x.bin': new Uint8Array(3) };
  const shortError = await rejection(createServer({ models: { m: { config, files: short } } }));
  assert.match(shortError.message, /expected 64 bytes for TYPE_FP32 of dims \[16\] but it has 3$/);
});

test('loadModel warms up anew, also what is given for it', async (t) => {
  const server = await serve(
    t,
    { m: onnx(addModel(), { more: sample(zeros) }) },
    { modelControlMode: 'explicit', loadModels: ['m'] },
  );
  await server.loadModel('m', {
    config: {
      max_batch_size: 8,
      model_warmup: [
        {
          name: 's',
          batch_size: 2,
          count: 3,
          inputs: { x: { data_type: 'TYPE_FP32', dims: [16], zero_data: true } },
        },
      ],
    },
  });
  assert.equal(server.model('m').statistics().execution_count, 3);
});

/** Invalid samples, with the reported field and the expected message. */
const wrong: readonly (readonly [what: string, sample: string, field: RegExp, text: RegExp])[] = [
  [
    'an unknown input',
    sample(zeros, 'batch_size: 1', 'xx'),
    /\.inputs\["xx"\]$/,
    /the model has no input "xx"; its inputs are "x"/,
  ],
  ['a missing input', 'model_warmup { batch_size: 1 }', /\.inputs$/, /missing: "x"/],
  [
    'a batch above the maximum',
    sample(zeros, 'batch_size: 65'),
    /batch_size$/,
    /expected at most 64, the model's max_batch_size, but found 65/,
  ],
  [
    'another type',
    sample('data_type: TYPE_INT32 dims: 16 zero_data: true'),
    /data_type$/,
    /expected TYPE_FP32, the input's type, but found TYPE_INT32/,
  ],
  [
    'other dims',
    sample('data_type: TYPE_FP32 dims: 15 zero_data: true'),
    /dims$/,
    /expected dims of \[16\], the input's, but found \[15\]/,
  ],
  [
    'dims with the batch',
    sample('data_type: TYPE_FP32 dims: [ 1, 16 ] zero_data: true'),
    /dims$/,
    /but found \[1,16\]/,
  ],
  [
    'a variable dim',
    sample('data_type: TYPE_FP32 dims: -1 zero_data: true'),
    /dims$/,
    /a sample has a fixed shape but found \[-1\]/,
  ],
  [
    'no data',
    sample('data_type: TYPE_FP32 dims: 16'),
    /inputs\["x"\]$/,
    /write one of zero_data, random_data and input_data_file/,
  ],
  ['no type', sample('dims: 16 zero_data: true'), /data_type$/, /missing/],
  [
    'an empty file name',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: ""'),
    /input_data_file$/,
    /missing: write the name of a file/,
  ],
  [
    'an absolute path',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "/etc/passwd"'),
    /input_data_file$/,
    /absolute path "\/etc\/passwd"/,
  ],
  [
    'a path on a drive',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "C:\\\\x"'),
    /input_data_file$/,
    /absolute path/,
  ],
  [
    'a path that leads out',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "../1/model.onnx"'),
    /input_data_file$/,
    /leads out of the model's folder 'warmup'/,
  ],
  [
    'a path that leads out and back',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "a/../../warmup/x.bin"'),
    /input_data_file$/,
    /leads out/,
  ],
  [
    'a file that is not there',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "y.bin"'),
    /input_data_file$/,
    /warmup.y\.bin cannot be read: there is no such file/,
  ],
  [
    'a folder for a file',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "sub"'),
    /input_data_file$/,
    /cannot be read: it is a folder/,
  ],
  [
    'the folder itself',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "."'),
    /input_data_file$/,
    /cannot be read: it is a folder/,
  ],
  [
    'a file that is too short',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "short.bin"'),
    /input_data_file$/,
    /short\.bin: expected 64 bytes for TYPE_FP32 of dims \[16\] but it has 60/,
  ],
  [
    'a file that is too long',
    sample('data_type: TYPE_FP32 dims: 16 input_data_file: "long.bin"'),
    /input_data_file$/,
    /long\.bin: expected 64 bytes for the sample's dims but it has 68/,
  ],
];

for (const [what, text, field, message] of wrong) {
  test(`${what} fails the load with file, line and field`, async (t) => {
    const model = {
      ...onnx(addModel(), { more: text }),
      files: {
        'warmup/short.bin': new Uint8Array(60),
        'warmup/long.bin': new Uint8Array(68),
        'warmup/sub/x': '',
      },
    };
    const repository = await writeRepository(await temporaryFolder(t), { m: model });
    const error = await rejection(createServer(repository));
    assert.match(error.message, message);
    assert.equal(error.model, 'm');
    assert.equal(error.location?.file, join(repository, 'm', 'config.pbtxt'));
    const lines = configText({ more: text }).split('\n');
    assert.equal(error.location.line, lines.indexOf(text) + 1);
    assert.match(error.location.field, field);
    assert.match(error.message, new RegExp(`config\\.pbtxt:${error.location.line}: model_warmup\\[0\\]`));
    // checkRepository reports the same.
    const [checked] = await checkRepository({ modelRepository: repository });
    assert.equal(checked?.ok, false);
    assert.match(checked.problems[0]?.message ?? '', message);
  });
}

test('a model without a batch dimension takes no batch', async (t) => {
  const more = sample(zeros, 'batch_size: 2');
  const error = await rejection(serve(t, { m: identity({ maxBatchSize: 0, more, batching: false }) }));
  assert.match(
    error.message,
    /model_warmup\[0\]\.batch_size: the model does not batch .*: expected 1 but found 2/,
  );
});

for (const [what, content, message] of [
  [
    'too few',
    strings('a', 'b'),
    /expected 3 strings, each behind its length in 4 bytes, but it ends in string 2/,
  ],
  ['too many', strings('a', 'b', 'c', 'd'), /expected 3 strings but 5 bytes follow the last one/],
  [
    'cut',
    strings('a', 'b', 'ccc').subarray(0, -1),
    /string 2 has a length of 3 bytes but the file has only 2 more/,
  ],
  [
    'a length that cannot be read',
    Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0),
    /string 0 has a length of 4294967295 bytes/,
  ],
] as const) {
  test(`strings of a file: ${what}`, async (t) => {
    const tensors = {
      inputs: [{ name: 'x', datatype: 'BYTES', dims: [3] }],
      outputs: [{ name: 'y', datatype: 'BYTES', dims: [3] }],
    } as const;
    const more = sample('data_type: TYPE_STRING dims: 3 input_data_file: "x.bin"');
    const model = { ...identity({ ...tensors, more }), files: { 'warmup/x.bin': content } };
    assert.match((await rejection(serve(t, { m: model }))).message, message);
  });
}

test('booleans of a file are 0 or 1', async (t) => {
  const tensors = {
    inputs: [{ name: 'x', datatype: 'BOOL', dims: [3] }],
    outputs: [{ name: 'y', datatype: 'BOOL', dims: [3] }],
  } as const;
  const more = sample('data_type: TYPE_BOOL dims: 3 input_data_file: "x.bin"');
  const model = { ...identity({ ...tensors, more }), files: { 'warmup/x.bin': Uint8Array.of(0, 1, 2) } };
  assert.match(
    (await rejection(serve(t, { m: model }))).message,
    /expected 0 or 1 for each BOOL but byte 2 is 2/,
  );
});

test('a sample that is larger than requests may be is refused before there is memory for it', async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] };
  for (const [dims, batch] of [
    ['9007199254740991', 1],
    ['1048576', 64],
    ['4194304', 1],
    ['0', 65536],
  ] as const) {
    const more = sample(`data_type: TYPE_FP32 dims: [ ${dims} ] zero_data: true`, `batch_size: ${batch}`);
    const error = await rejection(
      serve(t, { m: identity({ ...tensors, maxBatchSize: 65536, more }) }, { maxInFlightBytes: 2 ** 24 - 1 }),
    );
    assert.match(error.message, /hold more than options\.maxInFlightBytes, 16777215$/);
    assert.equal(error.location?.field, 'model_warmup[0].inputs["x"]');
  }
});

test(
  'a pipe in place of a file is refused, and nobody waits for it',
  { skip: process.platform === 'win32' && 'there are no such files' },
  async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), {
      m: withFile({ more: sample(fromFile) }, bytes(row())),
    });
    const file = join(repository, 'm', 'warmup', 'x.bin');
    await rm(file);
    await mkdir(join(repository, 'm', 'warmup'), { recursive: true });
    execFileSync('mkfifo', [file]);
    const error = await rejection(createServer(repository));
    assert.match(error.message, /x\.bin/);
    assert.match(error.message, /pipe|not a regular file/);
  },
);

/** A model that refuses an index beyond its table, warmed up with one. */
function failing(): RepositoryModel {
  const more = sample('data_type: TYPE_INT64 dims: 1 input_data_file: "x.bin"', 'batch_size: 2', 'index');
  const tensors = {
    inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
    outputs: [{ name: 'value', dims: [1] }],
  } as const;
  const index = new Uint8Array(BigInt64Array.of(BigInt(tableRows)).buffer);
  return { ...onnx(failingModel(), { ...tensors, more }), files: { 'warmup/x.bin': index } };
}

test('a sample that the model refuses fails the load with its name, and the others are served', async (t) => {
  const server = await serve(t, { m: onnx(), bad: failing() }, { exitOnError: false });
  const { reason = '' } = server.index().find(({ name }) => name === 'bad') ?? {};
  assert.match(reason, /^model 'bad', version 1: failed to run warmup sample 'first': .*idx=8/s);
  assert.equal(server.model('m').ready, true);
});
