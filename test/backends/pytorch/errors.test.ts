/** What cannot be served, and what the messages say. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { rejection } from '../../support/harness.js';
import { rowSumModel } from '../../support/models.js';
import { temporaryFolder, type RepositoryModel } from '../../support/repository.js';
import { type TorchOptions, eachWay, elements, fileOf, loadError, matrix, serve, torch } from './models.js';

/** The perceptron's configuration with another file. */
async function withFile(content: string | Uint8Array): Promise<RepositoryModel> {
  const { config = '' } = await torch('twice');
  return { config, versions: { '1': { 'model.pt': content } } };
}

eachWay('a file that is no model fails its load, and no other model', async (t) => {
  const whole = (await fileOf('twice'))['model.pt'] ?? '';
  const models = {
    good: await torch('twice'),
    text: await withFile('no model at all'),
    empty: await withFile(''),
    cut: await withFile(whole.slice(0, 900)),
    page: await withFile('<!doctype html><html></html>'),
    onnx: await withFile(rowSumModel()),
    pointer: await withFile('version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 12\n'),
  };
  const server = await serve(t, models, { exitOnError: false });
  assert.deepEqual(elements(await server.infer('good', matrix('x', [[1, 2]]))), [2, 4]);
  const reasons = Object.fromEntries(server.index().map(({ name, reason = '' }) => [name, reason]));
  for (const name of ['text', 'cut', 'onnx'])
    assert.match(reasons[name] ?? '', /failed to load model '.*torch\.jit\.script\(model\)\.save/, name);
  assert.match(reasons['empty'] ?? '', /is empty/);
  assert.match(reasons['page'] ?? '', /is a web page/);
  assert.match(reasons['pointer'] ?? '', /is a Git LFS pointer/);
});

const x = { name: 'x', dims: [-1] };

const unfit: readonly (readonly [what: string, model: string, TorchOptions, code: string, RegExp])[] = [
  [
    'two inputs, for one argument',
    'twice',
    { inputs: [x, { name: 'z', dims: [-1] }] },
    'INVALID_ARG',
    /unable to load model 'm', configuration expects 2 inputs, model provides 1 \(x\)/,
  ],
  [
    'an index that is too high',
    'twice',
    { inputs: [{ name: 'x__1', dims: [-1] }] },
    'INVALID_ARG',
    /input 'x__1' is the argument 1 of forward, which has 1/,
  ],
  [
    'a type that libtorch has no tensors of',
    'twice',
    { inputs: [{ ...x, datatype: 'UINT16' }] },
    'INTERNAL',
    /unsupported datatype TYPE_UINT16 for input 'x' for model 'm'/,
  ],
  [
    'such a type as an output',
    'twice',
    { outputs: [{ name: 'y', dims: [-1], datatype: 'UINT64' }] },
    'INTERNAL',
    /unsupported datatype TYPE_UINT64 for output 'y' for model 'm'/,
  ],
  [
    'strings of two dims',
    'only_text',
    { inputs: [{ ...x, datatype: 'BYTES' }] },
    'INTERNAL',
    /only supports 1 dimensional List of String as input for 'x' for model 'm'/,
  ],
  [
    'strings for a tensor',
    'twice',
    { maxBatchSize: 0, inputs: [{ ...x, datatype: 'BYTES' }] },
    'INVALID_ARG',
    /input 'x': expected a type of numbers, because forward's argument 'x' is of type Tensor/,
  ],
  [
    'numbers for strings',
    'only_text',
    { maxBatchSize: 0 },
    'INVALID_ARG',
    /input 'x': expected TYPE_STRING, because forward's argument 's' is of type List\[str\]/,
  ],
  ['an optional argument', 'optional', {}, 'INTERNAL', /An input of type 'Optional\[Tensor\]' was detected/],
  ['a list of tensors', 'tensors', {}, 'INTERNAL', /An input of type 'List\[Tensor\]' was detected/],
  [
    'two dicts',
    'two_dicts',
    { inputs: [x, { name: 'y', dims: [-1] }] },
    'INTERNAL',
    /Only a single input of type Dict\(str, Tensor\) is supported/,
  ],
  ['a model without forward', 'without_forward', {}, 'INTERNAL', /the model has no method forward/],
  ['no inputs', 'twice', { inputs: [] }, 'INVALID_ARG', /input: missing: write the model's inputs/],
  ['no outputs', 'twice', { outputs: [] }, 'INVALID_ARG', /output: missing: write the model's outputs/],
  [
    'a word that is no boolean',
    'twice',
    { parameters: { INFERENCE_MODE: 'yes' } },
    'INVALID_ARG',
    /parameters\["INFERENCE_MODE"\].*failed to convert 'yes' to boolean/,
  ],
  [
    'a model of AOTInductor',
    'twice',
    { more: 'platform: "torch_aoti"' },
    'UNSUPPORTED',
    /platform: models of AOTInductor \(platform torch_aoti\) are not supported.*torch\.jit\.trace/,
  ],
];

for (const [what, name, options, code, message] of unfit) {
  eachWay(`${what} is refused at the load`, async (t) => {
    const error = await loadError(t, await torch(name, options));
    assert.match(error.message, message);
    assert.equal(error.code, code);
  });
}

eachWay('a file model.pt2 is refused by its name', async (t) => {
  const error = await loadError(t, { versions: { '1': { 'model.pt2': 'PK' } } });
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /platform: models of AOTInductor/);
});

eachWay('a missing file is UNAVAILABLE, and the message has its path', async (t) => {
  const { config = '' } = await torch('twice');
  const error = await loadError(t, { config, versions: { '1': { 'other.txt': '' } } });
  assert.match(error.message, /model\.pt/);
});

test('a libtorch that is not there makes the model UNAVAILABLE, and so does one without a shim', async (t) => {
  const folder = await temporaryFolder(t);
  const model = await torch('twice');
  const refusal = (library: string): ReturnType<typeof rejection> =>
    rejection(serve(t, { m: model }, { backendConfig: { pytorch: { library } } }));
  const none = await refusal(join(folder, 'libtorch_cpu.so'));
  assert.deepEqual([none.code, none.reason], ['UNAVAILABLE', 'MISSING']);
  assert.ok(none.message.includes(`there is no libtorch '${folder}`), none.message);
  await writeFile(join(folder, 'libtorch_cpu.so'), 'library');
  const unbuilt = await refusal(join(folder, 'libtorch_cpu.so'));
  assert.deepEqual([unbuilt.code, unbuilt.reason], ['UNAVAILABLE', 'MISSING']);
  assert.match(unbuilt.message, /shim for it was not built.* Run 'npx tritonts build-backend pytorch'/);
});

test('an instance on a GPU is refused', async (t) => {
  const { config = '', versions = {} } = await torch('twice');
  const error = await loadError(t, { config: config.replace('KIND_CPU', 'KIND_GPU'), versions });
  assert.match(error.message, /instance_group\[0\]\.kind/);
});

eachWay("an error of a model has TorchScript's words, and its stack as the cause", async (t) => {
  const server = await serve(t, { fails: await torch('fails'), mismatch: await torch('mismatch') });
  assert.deepEqual(elements(await server.infer('fails', matrix('x', [[4, 9]]))), [2, 3]);
  const error = await rejection(server.infer('fails', matrix('x', [[-1]])));
  assert.equal(error.code, 'INTERNAL');
  assert.equal(
    error.message,
    "model 'fails': PyTorch execute failure: RuntimeError: AssertionError: negative: ä",
  );
  assert.ok(error.cause instanceof Error);
  assert.equal(error.cause.message, 'RuntimeError: AssertionError: negative: ä');
  assert.match(error.cause.stack ?? '', /Traceback of TorchScript.*in forward.*assert bool/s);
  const other = await rejection(server.infer('mismatch', matrix('x', [[1, 2, 3]])));
  assert.match(
    other.message,
    /^model 'mismatch': PyTorch execute failure: RuntimeError: (?:mm: )?mat1 and mat2 shapes cannot be multiplied/,
  );
  // The model goes on.
  assert.deepEqual(elements(await server.infer('fails', matrix('x', [[1]]))), [1]);
  assert.equal(elements(await server.infer('mismatch', matrix('x', [[1, 2, 3, 4, 5]]))).length, 2);
});

eachWay('only the request of a batch that fails gets the error', async (t) => {
  const server = await serve(t, { m: await torch('fails', { parameters: { inline: 'off' } }) });
  const answers = await Promise.allSettled(
    Array.from({ length: 32 }, (_, i) => server.infer('m', matrix('x', [[i === 5 ? -1000 : 4]]))),
  );
  answers.forEach(({ status }, i) => {
    assert.equal(status, i === 5 ? 'rejected' : 'fulfilled', String(i));
  });
});

const results: readonly (readonly [what: string, model: string, TorchOptions, code: string, RegExp])[] = [
  [
    'another type than that of the configuration',
    'twice',
    { outputs: [{ name: 'y', dims: [-1], datatype: 'INT64' }] },
    'INVALID_ARG',
    /configuration expects datatype TYPE_INT64 for output 'y', model provides TYPE_FP32/,
  ],
  [
    'a tensor in place of strings',
    'twice',
    { maxBatchSize: 0, outputs: [{ name: 'y', dims: [-1], datatype: 'BYTES' }] },
    'INVALID_ARG',
    /configuration expects datatype TYPE_STRING for output 'y', model provides TYPE_FP32/,
  ],
  [
    'fewer outputs than the configuration has',
    'twice',
    { outputs: [{ name: 'y__1', dims: [-1] }] },
    'INVALID_ARG',
    /The output y__1 in the model configuration refers to an output index which doesn't exist. This model has 1 outputs/,
  ],
  ['a scalar', 'total', { maxBatchSize: 0 }, 'INVALID_ARG', /output 'y' is a scalar which is not supported/],
  [
    'a number',
    'number',
    {},
    'INTERNAL',
    /PyTorch execute failure: output 'y' must be of type Tensor or List\[str\].* int$/,
  ],
  [
    'a list of numbers',
    'numbers',
    { outputs: [{ name: 'y__1', dims: [-1] }] },
    'INTERNAL',
    /output 'y__1' must be of type Tensor or List\[str\], but the model returned List\[int\]/,
  ],
  ['a sparse tensor', 'sparse', {}, 'INTERNAL', /output 'y': the model returned a tensor that is not dense/],
];

for (const [what, name, options, code, message] of results) {
  eachWay(`a model that returns ${what} is at fault`, async (t) => {
    const server = await serve(t, { m: await torch(name, options) });
    const shape = options.maxBatchSize === 0 ? [2] : [1, 2];
    const error = await rejection(server.infer('m', { x: { data: [1, 2], shape } }));
    assert.match(error.message, message);
    assert.equal(error.code, code);
  });
}

eachWay('a batch whose rows the model does not keep fails, and the message says what to write', async (t) => {
  const server = await serve(t, { m: await torch('one_row') });
  const error = await rejection(server.infer('m', matrix('x', [[1], [2]])));
  assert.match(error.message, /output 'y': expected 2 rows.* Write max_batch_size: 0/);
});

eachWay('a key that a dict lacks is named, with those that it has', async (t) => {
  const inputs = ['a', 'b'].map((name) => ({ name, dims: [-1] }));
  const server = await serve(t, {
    m: await torch('dict', { inputs, outputs: [{ name: 'total', dims: [-1] }] }),
  });
  const error = await rejection(server.infer('m', { ...matrix('a', [[1]]), ...matrix('b', [[1]]) }));
  assert.match(
    error.message,
    /'total' is not a key of the dict that the model returned, which has 'sum', 'difference'/,
  );
});
