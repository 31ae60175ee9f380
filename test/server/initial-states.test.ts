/** Files of initial states: what sequences begin with, and which files are refused. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createServer, type InferenceServer } from '../../src/index.js';
import { checkRepository } from '../../src/registry/check-repository.js';
import { configText, floats, rejection, serve, type Context } from '../support/harness.js';
import { growing, lastThree, runningSum } from '../support/models/sequences.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';

/** The bytes of numbers. */
const bytes = (...values: readonly number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

/** Strings, each behind its length. */
function strings(...values: readonly string[]): Uint8Array {
  return Buffer.concat(
    values.flatMap((value) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(value));
      return [length, Buffer.from(value)];
    }),
  );
}

/** A running sum that begins with the file `first.bin`. */
function sum(content: Uint8Array | undefined, maxBatchSize = 4): RepositoryModel {
  const config = configText({
    maxBatchSize,
    batching: false,
    inputs: [{ name: 'x', dims: [2] }],
    outputs: [{ name: 'y', dims: [2] }],
    more: `sequence_batching { state { input_name: "sum" output_name: "next" data_type: TYPE_FP32 dims: [ 2 ]
  initial_state { name: "first" data_type: TYPE_FP32 dims: [ 2 ] data_file: "first.bin" } } }`,
  });
  const files = content && { 'initial_state/first.bin': content };
  return { config, versions: { '1': runningSum(maxBatchSize > 0) }, ...(files && { files }) };
}

/** A model that appends to texts. They begin with the file, as two texts. */
function texts(content: Uint8Array, datatype = 'STRING'): RepositoryModel {
  const type = datatype === 'STRING' ? 'BYTES' : 'BOOL';
  const config = configText({
    maxBatchSize: 4,
    batching: false,
    inputs: [{ name: 'x', datatype: type, dims: [1] }],
    outputs: [{ name: 'y', datatype: type, dims: [-1] }],
    more: `sequence_batching { state { input_name: "past" output_name: "y" data_type: TYPE_${datatype} dims: [ -1 ]
  initial_state { name: "first" data_type: TYPE_${datatype} dims: [ 2 ] data_file: "deep/first.bin" } } }`,
  });
  return {
    config,
    versions: { '1': growing(true, type) },
    files: { 'initial_state/deep/first.bin': content },
  };
}

async function runs(server: InferenceServer, name: string, maxBatchSize = 4): Promise<number[][]> {
  const shape = maxBatchSize > 0 ? [1, 2] : [2];
  const x = { x: { data: [1, 2], shape } };
  const model = server.model(name);
  const sequence = model.sequence({ id: 1 });
  const results = [await sequence.infer(x), await sequence.infer(x)];
  // A live sequence that starts again has the first state again.
  results.push(await model.infer(x, { sequence: { id: 1, start: true } }), await sequence.end(x));
  return results.map((result) => floats(result));
}

test('a sequence begins with the bytes of the file, of which more than the state needs are ignored', async (t) => {
  const expected = [
    [11, 22],
    [12, 24],
    [11, 22],
    [12, 24],
  ];
  const server = await serve(t, {
    batches: sum(bytes(10, 20)),
    single: sum(bytes(10, 20), 0),
    surplus: sum(bytes(10, 20, 30)),
  });
  assert.deepEqual(await runs(server, 'batches'), expected);
  assert.deepEqual(await runs(server, 'single', 0), expected);
  assert.deepEqual(await runs(server, 'surplus'), expected);
});

test('texts begin with those of the file, with the shape of the initial state', async (t) => {
  const server = await serve(t, { m: texts(strings('a', 'éé')) });
  const sequence = server.model('m').sequence();
  await sequence.infer({ x: { data: ['b'], shape: [1, 1] } });
  const { outputs } = await sequence.end({ x: { data: ['c'], shape: [1, 1] } });
  assert.deepEqual(outputs['y']?.strings(), ['a', 'éé', 'b', 'c']);
  assert.deepEqual(outputs['y'].shape, [1, 4]);
});

test('a state in one buffer may begin with a file', async (t) => {
  const config = configText({
    maxBatchSize: 0,
    batching: false,
    inputs: [{ name: 'x', dims: [1] }],
    outputs: [{ name: 'y', dims: [3] }],
    more: `sequence_batching { state { input_name: "past" output_name: "y" data_type: TYPE_FP32 dims: [ 3 ]
      use_same_buffer_for_input_output: true
      initial_state { name: "first" data_type: TYPE_FP32 dims: [ 3 ] data_file: "first.bin" } } }`,
  });
  const files = { 'initial_state/first.bin': bytes(1, 2, 3) };
  const server = await serve(t, { m: { config, versions: { '1': lastThree(false, 'FP32') }, files } });
  assert.deepEqual(
    floats(
      await server
        .model('m')
        .sequence()
        .end({ x: { data: [4], shape: [1] } }),
    ),
    [2, 3, 4],
  );
});

test('the files of a model that the program gives are read, too', async (t) => {
  const { config = '' } = sum(undefined);
  const files = { 'config.pbtxt': Buffer.from(config), '1/model.onnx': runningSum(true) };
  const server = await createServer({
    models: { m: { files: { ...files, 'initial_state/first.bin': bytes(1, 1, 1) } } },
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  assert.deepEqual((await runs(server, 'm'))[0], [2, 3]);
  const error = await rejection(createServer({ models: { m: { files } } }));
  assert.equal(error.code, 'INTERNAL');
  assert.match(
    error.message,
    /initial state file .*initial_state.first\.bin cannot be read: it is not among the given files/,
  );
});

const place = 'sequence_batching.state[0].initial_state[0].data_file';

void suite('a file is refused with its place:', () => {
  const refusal = async (
    t: Context,
    model: RepositoryModel,
    options: { readonly maxInFlightBytes?: number } = {},
  ): Promise<readonly [code: string, message: string]> => {
    const server = await serve(t, { m: model }, { modelControlMode: 'explicit', ...options });
    const error = await rejection(server.loadModel('m'));
    assert.equal(error.location?.field, place);
    return [error.code, error.message];
  };
  for (const [what, model, code, message] of [
    [
      'too short',
      sum(bytes(1)),
      'INVALID_ARG',
      /first\.bin: expected at least 8 bytes for TYPE_FP32 of dims \[2\] but it has 4/,
    ],
    [
      'missing',
      sum(undefined),
      'INTERNAL',
      /initial state file .*first\.bin cannot be read: there is no such file/,
    ],
    ['too few texts', texts(strings('a')), 'INVALID_ARG', /expected 2 strings, .* but it ends in string 1/],
    [
      'too many texts',
      texts(strings('a', 'b', 'c')),
      'INVALID_ARG',
      /expected 2 strings but 5 bytes follow the last one/,
    ],
    [
      'a wrong boolean',
      texts(Uint8Array.of(1, 2), 'BOOL'),
      'INVALID_ARG',
      /expected 0 or 1 for each BOOL but byte 1 is 2/,
    ],
  ] as const) {
    test(what, async (t) => {
      const [found, text] = await refusal(t, model);
      assert.equal(found, code);
      assert.match(text, message);
    });
  }
  test('not booleans with more bytes than are needed', async (t) => {
    await serve(t, { m: texts(Uint8Array.of(1, 0, 2), 'BOOL') });
  });
  test('larger than all states may be', async (t) => {
    const large = strings('a'.repeat(2000), '');
    const [code, text] = await refusal(t, texts(large), { maxInFlightBytes: 1000 });
    assert.equal(code, 'INVALID_ARG');
    assert.match(
      text,
      /expected at most 1000 bytes \(options\.maxInFlightBytes\) .* TYPE_STRING of dims \[2\] has 2008/,
    );
    const booleans = texts(Uint8Array.of(1), 'BOOL');
    const config = booleans.config?.replace('dims: [ 2 ] data_file', 'dims: [ 2000 ] data_file') ?? '';
    const [, long] = await refusal(t, { ...booleans, config }, { maxInFlightBytes: 1000 });
    assert.match(long, /TYPE_BOOL of dims \[2000\] has 2000/);
  });
  test('by a check of the repository', async (t) => {
    const folder = await writeRepository(await temporaryFolder(t), { m: sum(bytes(1)) });
    const [checked] = await checkRepository({ modelRepository: folder });
    assert.equal(checked?.ok, false);
    assert.match(checked.problems[0]?.message ?? '', /expected at least 8 bytes/);
  });
});
