import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelConfig, ServerOptions } from '../../src/index.js';
import { expandConfig } from '../../src/config/schema/expand.js';
import { printConfig, printConfigJson } from '../../src/config/text/print.js';
import { readModelConfigJson } from '../../src/config/text/read-json.js';
import { readModelConfig } from '../../src/config/text/read.js';
import {
  addModel,
  fixedBatchModel,
  identityModel,
  rowSumModel,
  sequenceModel,
  sumAndDifferenceModel,
} from '../support/models.js';
import { floats, rejection, row, serve, type Context } from '../support/harness.js';

const x = 'input [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]';
const y = 'output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]';

/** The completed configuration of a model (by default y = x + 1) and a text, with its notes. */
async function complete(
  t: Context,
  text: string | undefined,
  { file = addModel(), ...options }: Partial<ServerOptions> & { readonly file?: Uint8Array } = {},
): Promise<{ readonly config: ModelConfig; readonly notes: readonly string[] }> {
  const server = await serve(
    t,
    { m: { ...(text !== undefined && { config: text }), versions: { '1': file } } },
    options,
  );
  const { config, notes } = server.model('m');
  return { config, notes };
}

/** A configuration as from JSON: the reader's maps have no prototype. */
function plain(config: ModelConfig): unknown {
  return JSON.parse(JSON.stringify(config));
}

/** Names and dims of the tensors, the largest batch, and the scheduler. */
function summary(config: ModelConfig): unknown {
  const tensors = [...config.input, ...config.output].map(
    ({ name, data_type, dims, reshape }) =>
      `${name} ${data_type} [${dims.join()}]${reshape ? ' reshape' : ''}`,
  );
  return [config.max_batch_size, ...tensors, config.dynamic_batching?.preferred_batch_size];
}

/** As in Triton, the scheduler has no sizes. */
const whole = [4, 'x TYPE_FP32 [16]', 'y TYPE_FP32 [16]', []];

const texts: readonly (readonly [what: string, text: string | undefined, expected: unknown])[] = [
  ['no configuration', undefined, whole],
  ['an empty file', '', whole],
  ['a comment alone', '# to be written\n', whole],
  ['only a backend', 'backend: "onnxruntime"', whole],
  ['only max_batch_size', 'max_batch_size: 6', [6, ...whole.slice(1)]],
  ['max_batch_size: 1, which needs no scheduler', 'max_batch_size: 1', [1, ...whole.slice(1, 3), undefined]],
  ['only the inputs', x, whole],
  ['only the outputs', y, whole],
  [
    'a scheduler that is written',
    'dynamic_batching { max_queue_delay_microseconds: 5 }',
    [...whole.slice(0, 3), [4]],
  ],
  [
    'both inputs and outputs with a batch size',
    `max_batch_size: 2 ${x} ${y}`,
    [2, ...whole.slice(1, 3), undefined],
  ],
  [
    'both inputs and outputs without one: whole shapes',
    `${x}${y}`.replaceAll('[ 16 ]', '[ -1, 16 ]'),
    [0, 'x TYPE_FP32 [-1,16]', 'y TYPE_FP32 [-1,16]', undefined],
  ],
];

for (const [what, text, expected] of texts) {
  test(`a model with ${what} is completed as Triton does`, async (t) => {
    const { config } = await complete(t, text);
    assert.deepEqual(summary(config), expected);
  });
}

test('a file without a configuration gives exactly what Triton gives, but for the number of instances', async (t) => {
  const { config } = await complete(t, undefined);
  const { name, platform, backend, version_policy, instance_group, default_model_filename } = config;
  assert.deepEqual(
    { name, platform, backend, version_policy, default_model_filename },
    {
      name: 'm',
      platform: 'onnxruntime_onnx',
      backend: 'onnxruntime',
      version_policy: { latest: { num_versions: 1 } },
      default_model_filename: 'model.onnx',
    },
  );
  const [group] = instance_group;
  assert.deepEqual([group?.name, group?.kind, group?.count], ['m', 'KIND_CPU', 1]);
  assert.deepEqual(config.optimization?.input_pinned_memory, { enable: true });
});

const files: readonly (readonly [what: string, file: Uint8Array, expected: unknown])[] = [
  [
    'a first dim that is fixed',
    fixedBatchModel(4, 16),
    [0, 'x TYPE_FP32 [4,16]', 'y TYPE_FP32 [4,16]', undefined],
  ],
  ['rank 0', identityModel('BOOL', []), [0, 'x TYPE_BOOL [1]', 'y TYPE_BOOL [1]', undefined]],
  [
    'the batch alone',
    identityModel('BYTES', ['N']),
    [4, 'x TYPE_STRING [1] reshape', 'y TYPE_STRING [1] reshape', []],
  ],
  ['variable dims', rowSumModel(), [4, 'ids TYPE_INT64 [-1]', 'total TYPE_FP32 [1]', []]],
  ['BF16', identityModel('BF16', ['N', 2]), [4, 'x TYPE_BF16 [2]', 'y TYPE_BF16 [2]', []]],
];

for (const [what, file, expected] of files) {
  test(`a model of ${what} is completed from its file`, async (t) => {
    assert.deepEqual(summary((await complete(t, undefined, { file })).config), expected);
  });
}

for (const [size, expected] of [
  [0, [0, 'x TYPE_FP32 [-1,16]', 'y TYPE_FP32 [-1,16]', undefined]],
  [1, [1, ...whole.slice(1, 3), undefined]],
  ['8', [8, ...whole.slice(1)]],
] as const) {
  test(`default-max-batch-size ${size} is what a model gets that can be batched and says nothing`, async (t) => {
    const backendConfig = { onnxruntime: { 'default-max-batch-size': size } };
    assert.deepEqual(summary((await complete(t, undefined, { backendConfig })).config), expected);
    const { config } = await complete(t, `max_batch_size: 3`, { backendConfig });
    assert.equal(config.max_batch_size, 3);
  });
}

for (const size of ['many', -1, 1.5, true]) {
  test(`default-max-batch-size ${String(size)} is refused`, async (t) => {
    const backendConfig = { onnxruntime: { 'default-max-batch-size': size } };
    const error = await rejection(complete(t, undefined, { backendConfig }));
    assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
    assert.match(error.message, new RegExp(`'default-max-batch-size'.* received ${String(size)}`));
  });
}

test('notes list what was filled in, and are empty if nothing was', async (t) => {
  const { notes } = await complete(t, undefined);
  assert.deepEqual(notes, [
    'max_batch_size: completed to 4, the default for a model that can be batched',
    'input[0]: completed from the model: "x", TYPE_FP32, dims [16]',
    'output[0]: completed from the model: "y", TYPE_FP32, dims [16]',
    'dynamic_batching: added, because the model can be batched and no scheduler is written',
  ]);
  assert.deepEqual((await complete(t, `max_batch_size: 2 ${x} ${y}`)).notes, []);
});

test('an output that is a sequence is left out, with what to do about it, and the model answers', async (t) => {
  const server = await serve(t, { m: { versions: { '1': sequenceModel() } } });
  const { config, notes } = server.model('m');
  assert.deepEqual(summary(config), [0, 'x TYPE_FP32 [-1,16]', 'label TYPE_FP32 [-1,16]', undefined]);
  assert.match(
    notes.find((note) => note.startsWith('output: ')) ?? '',
    /^output: left out, because the model's "probabilities" is of type sequence.* options=\{'zipmap': False\}/,
  );
  const { outputs } = await server.infer('m', { x: { data: row(3), shape: [1, 16] } });
  assert.deepEqual(Object.keys(outputs), ['label']);
  assert.deepEqual(outputs['label']?.data, row(3));
});

test('a model whose only output is a sequence is refused, with what to do about it', async (t) => {
  const error = await rejection(complete(t, undefined, { file: sequenceModel(false) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /output\[0\]: cannot be completed: .*sequence.*'zipmap': False/);
});

for (const [what, text, advice] of [
  ['was completed', undefined, true],
  ['is that of the backend configuration', undefined, true],
  ['was written', 'max_batch_size: 4', false],
] as const) {
  test(`a batch over a max_batch_size that ${what} is refused${advice ? ', with advice how to raise it' : ''}`, async (t) => {
    const size = what.startsWith('is') ? { 'default-max-batch-size': 3 } : undefined;
    const server = await serve(
      t,
      { m: { ...(text !== undefined && { config: text }), versions: { '1': addModel() } } },
      size && { backendConfig: { onnxruntime: size } },
    );
    const error = await rejection(server.infer('m', { x: new Float32Array(5 * 16) }));
    const [, said] = error.message.split('a batch of 5 is over max_batch_size');
    assert.equal(
      said,
      advice
        ? `, which was completed to ${size ? 3 : 4}, the default, because the model's config.pbtxt says nothing: ` +
            "write max_batch_size: 5 there, or for all models backendConfig: { onnxruntime: { 'default-max-batch-size': 5 } }"
        : '',
    );
  });
}

test('a completed model answers', async (t) => {
  const server = await serve(t, { sums: { versions: { '1': sumAndDifferenceModel() } } });
  const { outputs } = await server.infer('sums', { b: row(0), a: row(1) });
  assert.deepEqual(floats({ outputs }, 'difference'), new Array(16).fill(1));
});

test('the completed configuration is frozen, prints as pbtxt and as JSON, and reads back equal', async (t) => {
  for (const file of [addModel(), rowSumModel(), identityModel('BYTES', ['N']), identityModel('FP16', [])]) {
    const { config } = await complete(t, undefined, { file });
    assert.ok(
      Object.isFrozen(config) && Object.isFrozen(config.input) && Object.isFrozen(config.input[0]?.dims),
    );
    const text = printConfig(config);
    assert.deepEqual(plain(expandConfig(readModelConfig({ file: 'config.pbtxt', text }).value)), config);
    const value: unknown = JSON.parse(printConfigJson(config));
    assert.deepEqual(plain(expandConfig(readModelConfigJson({ file: 'JSON', value }).value)), config);
  }
});

test('a printed configuration needs no completion, and is served as it is', async (t) => {
  for (const file of [addModel(), rowSumModel(), identityModel('BYTES', ['N']), identityModel('FP16', [])]) {
    const { config } = await complete(t, undefined, { file });
    const { dynamic_batching: batching, max_batch_size: size } = config;
    for (const autoCompleteConfig of [false, true]) {
      const again = await complete(t, printConfig(config), { file, autoCompleteConfig });
      assert.deepEqual(
        again.notes.filter((note) => /: (completed|added)/.test(note)),
        [],
      );
      // A written scheduler gets default sizes; an added one does not.
      const sizes = batching && { dynamic_batching: { ...batching, preferred_batch_size: [size] } };
      assert.deepEqual(again.config, { ...config, ...sizes });
    }
  }
});

const incomplete: readonly (readonly [text: string | undefined, fields: readonly string[]])[] = [
  [undefined, ['']],
  ['', ['input', 'output']],
  ['max_batch_size: 4', ['input', 'output']],
  [x, ['output']],
  [y, ['input']],
  ['max_batch_size: 4 input [ { name: "x" } ]', ['input[0].data_type', 'input[0].dims', 'output']],
];

for (const [text, fields] of incomplete) {
  test(`without completion, ${JSON.stringify(text)} is refused with what is missing`, async (t) => {
    const error = await rejection(complete(t, text, { autoCompleteConfig: false }));
    const all = error.cause instanceof AggregateError ? (error.cause.errors as (typeof error)[]) : [error];
    const problems = all.flatMap((one) =>
      one.cause instanceof AggregateError ? (one.cause.errors as (typeof error)[]) : [one],
    );
    assert.deepEqual(
      problems.map(({ code, location }) => [code, location?.field]),
      fields.map((field) => ['INVALID_ARG', field]),
    );
    for (const { message } of problems) assert.match(message, /m[\\/]config\.pbtxt.*missing/);
  });
}
