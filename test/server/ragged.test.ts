/** Batches of requests with unequal shapes: `allow_ragged_batch`, `batch_input`, `batch_output`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchInputKinds } from '../../src/config/index.js';
import { paddedTextsModel, raggedTextsModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import { made, together } from '../support/ragged.js';
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
