import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Inputs } from '../../src/index.js';
import { addModel, identityModel } from '../support/models.js';
import { skipBefore } from '../support/runtime.js';
import { batchCountsAfter, onnx, serve } from '../support/harness.js';

/** Two rows of two values, including the smallest and the largest value with a successor. */
const examples = {
  UINT8: Uint8Array.of(0, 254, 1, 2),
  UINT16: Uint16Array.of(0, 65_534, 1, 2),
  UINT32: Uint32Array.of(0, 4_294_967_294, 1, 2),
  UINT64: BigUint64Array.of(0n, 2n ** 64n - 2n, 1n, 2n),
  INT8: Int8Array.of(-128, 126, -1, 2),
  INT16: Int16Array.of(-32_768, 32_766, -1, 2),
  INT32: Int32Array.of(-(2 ** 31), 2 ** 31 - 2, -1, 2),
  INT64: BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 2n, -1n, 2n),
  FP32: Float32Array.of(-0.5, 16_777_214, 0.25, -1),
  FP64: Float64Array.of(-0.5, 2 ** 53 - 2, 1e-3, -1),
} as const;

type Example = (typeof examples)[keyof typeof examples];

/** An array of the same class with every value increased by one. */
function successor(values: Example): Example {
  if (values instanceof BigInt64Array || values instanceof BigUint64Array)
    return values.map((value) => value + 1n);
  return values.map((value) => value + 1);
}

/** Datatypes that older runtimes cannot add. */
const newer: ReadonlySet<string> = new Set(['UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16']);

void suite('y = x + 1 is right for', () => {
  for (const [datatype, x] of Object.entries(examples) as [keyof typeof examples, Example][]) {
    const skip = newer.has(datatype) && skipBefore(21, `addition of ${datatype}`);
    test(datatype, { skip }, async (t) => {
      const tensor = { datatype, dims: [2] };
      const model = onnx(addModel({ datatype, width: 2 }), {
        inputs: [{ ...tensor, name: 'x' }],
        outputs: [{ ...tensor, name: 'y' }],
      });
      const server = await serve(t, { add: model });
      const { outputs } = await server.infer('add', { x });
      assert.equal(outputs['y']?.datatype, datatype);
      assert.deepEqual(outputs['y'].shape, [2, 2]);
      assert.deepEqual(outputs['y'].data, successor(x));
    });
  }
});

void suite('rows of a batch keep their own values for', () => {
  for (const [datatype, x] of Object.entries({ ...examples, BOOL: Uint8Array.of(1, 0, 0, 1) }) as [
    keyof typeof examples | 'BOOL',
    Example,
  ][]) {
    test(datatype, async (t) => {
      const tensor = { datatype, dims: [2] };
      const model = onnx(identityModel(datatype, ['N', 2]), {
        inputs: [{ ...tensor, name: 'x' }],
        outputs: [{ ...tensor, name: 'y' }],
        batching: 'preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 2000000',
      });
      const server = await serve(t, { same: model });
      const halves: Inputs[] = [{ x: x.subarray(0, 2) }, { x: x.subarray(2, 4) }];
      const results = await Promise.all([...halves, ...halves].map((inputs) => server.infer('same', inputs)));
      for (const [i, { outputs }] of results.entries()) {
        assert.deepEqual(outputs['y']?.data, x.slice(i % 2 === 0 ? 0 : 2, i % 2 === 0 ? 2 : 4));
      }
      assert.deepEqual(await batchCountsAfter(server, 'same', 4), { 4: 1 });
    });
  }
});

test('BOOL is told apart from UINT8', async (t) => {
  const tensor = { datatype: 'BOOL', dims: [2] } as const;
  const model = onnx(identityModel('BOOL', ['N', 2]), {
    inputs: [{ ...tensor, name: 'x' }],
    outputs: [{ ...tensor, name: 'y' }],
  });
  const server = await serve(t, { same: model });
  const { outputs } = await server.infer('same', { x: [[true, false]] });
  assert.equal(outputs['y']?.datatype, 'BOOL');
  assert.deepEqual(outputs['y'].data, Uint8Array.of(1, 0));
  assert.deepEqual(outputs['y'].toArray(), [[true, false]]);
});
