/** Batches of requests with unequal shapes: `allow_ragged_batch`, `batch_input`, `batch_output`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer } from '../../src/index.js';
import { batchInputKinds } from '../../src/config/index.js';
import { executing, script } from '../javascript/harness.js';
import { script as python, serving, skip } from '../python/harness.js';
import { paddedTextsModel, raggedTextsModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import {
  batchCountsAfter,
  ensemble,
  floats,
  onnx,
  rejection,
  serve,
  statisticsAfter,
  type ConfigOptions,
} from '../support/harness.js';

/** Waits for a full batch as long as a test may take. */
const together = (rows: number): string =>
  `preferred_batch_size: ${rows} max_queue_delay_microseconds: 20000000`;

const made = (kind: string, target: string, source: string, type = 'TYPE_INT32'): string =>
  `batch_input { kind: ${kind} target_name: "${target}" data_type: ${type} source_input: "${source}" }`;

const offsets = made('BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', 'offsets', 'input_ids');

const textsConfig: ConfigOptions = {
  inputs: [{ name: 'input_ids', datatype: 'INT64', dims: [-1], ragged: true }],
  outputs: [{ name: 'embedding', dims: [64] }],
};

/** A text of this many tokens; no token is padding. */
function text(length: number): BigInt64Array<ArrayBuffer> {
  return BigInt64Array.from({ length }, (_, i) => BigInt(1 + ((i * 37 + length * 11) % 511)));
}

function assertClose(found: readonly number[], wanted: readonly number[]): void {
  assert.equal(found.length, wanted.length);
  found.forEach((value, i) => {
    assert.ok(Math.abs(value - (wanted[i] ?? NaN)) < 1e-4, `[${i}] is ${value}, not ${wanted[i]}`);
  });
}

test('texts of unequal length run together, and have the results of padded texts', async (t) => {
  const lengths = [3, 17, 1, 64, 8, 128, 30, 5];
  const padding = { name: 'input_ids', datatype: 'INT64', dims: [128] } as const;
  const server = await serve(t, {
    ragged: onnx(raggedTextsModel(), { ...textsConfig, more: offsets, batching: together(lengths.length) }),
    padded: onnx(paddedTextsModel(), { ...textsConfig, inputs: [padding] }),
  });
  const ragged = server.model('ragged');
  const padded = server.model('padded');
  const results = await Promise.all(lengths.map((length) => ragged.infer({ input_ids: text(length) })));
  for (const [i, length] of lengths.entries()) {
    const input_ids = new BigInt64Array(128);
    input_ids.set(text(length));
    const wanted = floats(await padded.infer({ input_ids }), 'embedding');
    const result = results[i];
    assert.ok(result);
    assert.deepEqual(result.outputs['embedding']?.shape, [1, 64]);
    assertClose(floats(result, 'embedding'), wanted);
  }
  assert.deepEqual(await batchCountsAfter(server, 'ragged', lengths.length), { [lengths.length]: 1 });
});

test('a ragged request that runs alone is one dimension, too', async (t) => {
  const config = { ...textsConfig, more: offsets };
  const server = await serve(t, {
    alone: onnx(raggedTextsModel(), { ...config, batching: false }),
    none: onnx(raggedTextsModel(), {
      ...config,
      maxBatchSize: 0,
      batching: false,
      outputs: [{ name: 'embedding', dims: [-1, 64] }],
    }),
  });
  for (const length of [1, 9]) {
    const alone = await server.infer('alone', { input_ids: text(length) });
    const none = await server.infer('none', { input_ids: text(length) });
    assert.deepEqual(none.outputs['embedding']?.shape, [1, 64]);
    assertClose(floats(alone, 'embedding'), floats(none, 'embedding'));
  }
});

/** A model whose output of each kind has that batch input of the whole batch, for each request. */
function tellingModel(datatype: 'INT32' | 'FP32'): Uint8Array {
  const model = graph('telling')
    .input('x', 'FP32', ['T'])
    .initializer('row', 'INT64', [2], [1, -1])
    .initializer('one', 'INT64', [1], [1]);
  batchInputKinds.forEach((kind, i) => {
    const rank = kind === 'BATCH_ITEM_SHAPE' ? 2 : 1;
    model.input(`in${i}`, datatype, rank === 2 ? [`A${i}`, `B${i}`] : [`A${i}`]);
    const told = kind === 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE' ? `shape${i}` : `in${i}`;
    model.node('Shape', [`in${i}`], [`shape${i}`]);
    if (i === 0) model.node('Concat', ['shape0', 'one'], ['repeats'], { axis: 0 });
    model
      .node('Cast', [told], [`number${i}`], { to: 1 })
      .node('Reshape', [`number${i}`, 'row'], [`row${i}`])
      .node('Tile', [`row${i}`, 'repeats'], [`out${i}`])
      .output(`out${i}`, 'FP32', ['N', `C${i}`]);
  });
  return model.encode();
}

for (const datatype of ['INT32', 'FP32'] as const) {
  test(`batch inputs of every kind as ${datatype} are what Triton makes`, async (t) => {
    const server = await serve(t, {
      m: onnx(tellingModel(datatype), {
        inputs: [{ name: 'x', dims: [-1, -1], ragged: true }],
        outputs: batchInputKinds.map((_, i) => ({ name: `out${i}`, dims: [-1] })),
        batching: together(3),
        more: batchInputKinds.map((kind, i) => made(kind, `in${i}`, 'x', `TYPE_${datatype}`)).join('\n'),
      }),
    });
    const shapes = [
      [1, 2, 3],
      [1, 1, 4],
      [1, 5, 1],
    ];
    const results = await Promise.all(
      shapes.map((shape) =>
        server.infer('m', { x: { data: new Float32Array(shape.reduce((a, b) => a * b)), shape } }),
      ),
    );
    for (const result of results) {
      assert.deepEqual(
        batchInputKinds.map((_, i) => floats(result, `out${i}`)),
        [[6, 4, 5], [6, 10, 15], [0, 6, 10, 15], [6], [2, 3, 1, 4, 5, 1], [2, 3, 1, 4, 5, 1]],
      );
    }
  });
}

/** y = 2 x, in one dimension. */
const doubles = graph('doubles')
  .input('x', 'FP32', ['T'])
  .initializer('two', 'FP32', [1], [2])
  .node('Mul', ['x', 'two'], ['y'])
  .output('y', 'FP32', ['T'])
  .encode();
const scatter = 'batch_output { target_name: "y" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "x" }';
const raggedRows = {
  inputs: [{ name: 'x', dims: [-1], ragged: true }],
  outputs: [{ name: 'y', dims: [-1] }],
} as const;

function askRows(server: InferenceServer, name: string, shapes: readonly (readonly [number, number])[]) {
  return shapes.map(([rows, length], i) =>
    server.infer(name, {
      x: { data: Float32Array.from({ length: rows * length }, (_, k) => 100 * i + k), shape: [rows, length] },
    }),
  );
}

test('an output is cut by the shapes of an input, for requests of several rows, too', async (t) => {
  const shapes = [
    [1, 3],
    [2, 2],
    [3, 1],
  ] as const;
  const server = await serve(t, {
    m: onnx(doubles, { ...raggedRows, batching: together(6), more: scatter }),
  });
  const results = await Promise.all(askRows(server, 'm', shapes));
  for (const [i, { outputs, timings }] of results.entries()) {
    const [rows, length] = shapes[i] ?? [0, 0];
    assert.equal(timings.batchSize, 6);
    assert.deepEqual(outputs['y']?.shape, [rows, length]);
    assert.deepEqual(
      [...floats({ outputs })],
      Array.from({ length: rows * length }, (_, k) => 2 * (100 * i + k)),
    );
  }
});

test('an output with one row for each request serves the first ones, and the others fail', async (t) => {
  // Sums over the whole batch, one for each text.
  const model = graph('counts')
    .input('x', 'FP32', ['T'])
    .input('n', 'INT32', ['N'])
    .initializer('columns', 'INT64', [2], [-1, 1])
    .node('Cast', ['n'], ['numbers'], { to: 1 })
    .node('Reshape', ['numbers', 'columns'], ['y'])
    .output('y', 'FP32', ['N', 1])
    .encode();
  const server = await serve(t, {
    m: onnx(model, {
      ...raggedRows,
      outputs: [{ name: 'y', dims: [1] }],
      batching: together(3),
      more: made('BATCH_ELEMENT_COUNT', 'n', 'x'),
    }),
  });
  const [first, second] = askRows(server, 'm', [
    [1, 5],
    [2, 3],
  ]);
  assert.ok(first && second);
  const failed = rejection(second);
  assert.deepEqual(floats(await first), [5]);
  const { code, message } = await failed;
  assert.equal(code, 'UNSUPPORTED');
  assert.match(
    message,
    /model 'm': output 'y': failed to split the output tensor: request 1 of the batch gets \[2,1\]/,
  );
  // Requests of one row are answered all.
  const rows = await Promise.all(
    askRows(server, 'm', [
      [1, 1],
      [1, 2],
      [1, 3],
    ]),
  );
  assert.deepEqual(
    rows.map((result) => floats(result)),
    [[1], [2], [3]],
  );
});

test('only the ragged input may differ in a batch', async (t) => {
  const model = graph('two')
    .input('x', 'FP32', ['T'])
    .input('z', 'FP32', ['N', 'D'])
    .node('Identity', ['z'], ['y'])
    .output('y', 'FP32', ['N', 'D'])
    .encode();
  const server = await serve(t, {
    m: onnx(model, { ...raggedRows, inputs: [...raggedRows.inputs, { name: 'z', dims: [-1] }] }),
  });
  const widths = [2, 2, 3, 3, 3];
  const results = await Promise.all(
    widths.map((width, i) => server.infer('m', { x: new Float32Array(i + 1), z: new Float32Array(width) })),
  );
  assert.deepEqual(
    results.map(({ timings }) => timings.batchSize),
    [2, 2, 3, 3, 3],
  );
});

test('ragged strings follow each other', async (t) => {
  const model = graph('words')
    .input('x', 'BYTES', ['T'])
    .input('n', 'INT32', ['N'])
    .initializer('columns', 'INT64', [2], [-1, 1])
    .initializer('zero', 'INT64', [1], [0])
    .node('Shape', ['x'], ['all'])
    .node('Cast', ['n'], ['long'], { to: 7 })
    .node('Mul', ['long', 'zero'], ['none'])
    .node('Add', ['none', 'all'], ['words'])
    .node('Reshape', ['words', 'columns'], ['y'])
    .output('y', 'INT64', ['N', 1])
    .encode();
  const server = await serve(t, {
    m: onnx(model, {
      inputs: [{ name: 'x', datatype: 'BYTES', dims: [-1], ragged: true }],
      outputs: [{ name: 'y', datatype: 'INT64', dims: [1] }],
      batching: together(2),
      more: made('BATCH_ELEMENT_COUNT', 'n', 'x'),
    }),
  });
  const results = await Promise.all([
    server.infer('m', { x: ['one', 'two', 'three'] }),
    server.infer('m', { x: [''] }),
  ]);
  assert.deepEqual(
    results.map(({ outputs }) => outputs['y']?.toArray()),
    [[[4n]], [[4n]]],
  );
});

test('a bad request of a ragged batch fails alone', async (t) => {
  const server = await serve(t, {
    m: onnx(raggedTextsModel(), { ...textsConfig, more: offsets, batching: together(4) }),
  });
  const bad = BigInt64Array.of(1n, 9999n);
  const [one, failed, other, last] = [text(3), bad, text(7), text(2)].map((input_ids) =>
    server.infer('m', { input_ids }),
  );
  assert.ok(one && failed && other && last);
  const error = rejection(failed);
  const good = await Promise.all([one, other, last]);
  assert.match((await error).message, /model 'm'.*Gather.*idx=9999/s);
  assert.ok(good.every((result) => floats(result, 'embedding').every(Number.isFinite)));
  const { reruns } = await statisticsAfter(server, 'm', 4);
  assert.equal(reruns, 4);
});

test('callers neither see nor send batch inputs', async (t) => {
  const server = await serve(t, { m: onnx(raggedTextsModel(), { ...textsConfig, more: offsets }) });
  const model = server.model('m');
  assert.deepEqual(model.metadata.inputs, [{ name: 'input_ids', datatype: 'INT64', shape: [-1, -1] }]);
  const { code, message } = await rejection(
    model.infer({ input_ids: text(2), offsets: Int32Array.of(0, 2) }),
  );
  assert.equal(code, 'INVALID_ARG');
  assert.match(message, /offsets/);
});

test('a ragged model is warmed up, and is a step of an ensemble', async (t) => {
  const sample = `model_warmup { name: "s" batch_size: 3
    inputs { key: "input_ids" value { data_type: TYPE_INT64 dims: 5 zero_data: true } } }`;
  const server = await serve(t, {
    m: onnx(raggedTextsModel(), { ...textsConfig, more: offsets + sample }),
    e: ensemble([{ model: 'm', from: { input_ids: 'ids' }, to: { embedding: 'e' } }], {
      inputs: [{ name: 'ids', datatype: 'INT64', dims: [-1] }],
      outputs: [{ name: 'e', dims: [64] }],
    }),
  });
  const [through] = await Promise.all([4, 6, 8].map((length) => server.infer('e', { ids: text(length) })));
  assert.ok(through);
  assertClose(floats(through, 'e'), floats(await server.infer('m', { input_ids: text(4) }), 'embedding'));
});

/** What models get that take each request by itself: lengths 2, 1 and 3 in one batch. */
async function askApart(server: InferenceServer): Promise<void> {
  const results = await Promise.all(
    [2, 1, 3].map((length) => server.infer('m', { x: new Float32Array(length).fill(1) })),
  );
  assert.deepEqual(
    results.map((result) => floats(result)),
    [[2], [1], [3]],
  );
  assert.deepEqual(
    results.map(({ timings }) => timings.batchSize),
    [3, 3, 3],
  );
  const notes = server.model('m').notes.filter((note) => note.startsWith('batch_input'));
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? '', /accepted, without effect here/);
}

const apart = {
  ...raggedRows,
  outputs: [{ name: 'y', dims: [1] }],
  batching: together(3),
  more: made('BATCH_ELEMENT_COUNT', 'n', 'x'),
};

test('a model in JavaScript gets each request of a ragged batch with its own tensor', async (t) => {
  const body =
    'return requests.map(({ inputs: { x } }) => ({ y: [[x.shape[1] === x.data.length ? x.data.length : -1]] }));';
  await askApart(await serve(t, { m: script(executing(body), apart) }));
});

test('a model in Python gets each request of a ragged batch with its own tensor', { skip }, async (t) => {
  const body = `def execute(self, requests):
    import numpy
    return [answer(array(request).sum(axis=1, keepdims=True).astype(numpy.float32)) for request in requests]`;
  await askApart(await serving(t, { m: python(body, apart) }));
});
