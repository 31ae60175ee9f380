import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../support/fast-check.js';
import { TritonError } from '../../src/errors.js';
import { datatypeNumber, datatypeSize, type Datatype } from '../../src/tensor/datatype.js';
import type { Inputs, TensorInput } from '../../src/tensor/inputs.js';
import { detach, echo, elementsOf, encode, encoderOf, refusal } from './encode.js';
import { InputEncoder } from '../../src/tensor/input.js';

interface Resizable {
  resize(bytes: number): void;
}

/** A resizable buffer, which this project's TypeScript library lacks. */
function resizable(bytes: number, maxByteLength: number): ArrayBuffer & Resizable {
  const constructor = ArrayBuffer as unknown as new (
    bytes: number,
    options: object,
  ) => ArrayBuffer & Resizable;
  return new constructor(bytes, { maxByteLength });
}

describe('memory of the caller', () => {
  it('is handed on as it is where it is of the right class', () => {
    for (const count of [2, 64]) {
      const data = new Float32Array(count);
      assert.equal(encode('FP32', [count], data).data, data);
      assert.equal(encode('FP32', [-1], data).data, data);
      assert.equal(encode('FP32', [count], { data, shape: [1, count] }).data, data);
    }
  });

  it('is let go of when its request is written', () => {
    const encoder = new InputEncoder({
      model: 'm',
      maxBatchSize: 8,
      inputs: [{ name: 'x', datatype: 'FP32', dims: [2], optional: false }],
    });
    const encoded = encoder.encode({ x: Float32Array.of(1, 2) });
    encoder.release();
    assert.equal(encoded.data[0], undefined);
  });

  it('is copied where it is shared with other threads, and not so small that its length can be held to', () => {
    for (const count of [20, 400]) {
      for (const dims of [[count], [-1]]) {
        const shared = new Float32Array(new SharedArrayBuffer(4 * count)).fill(1);
        for (const value of [shared, [shared], { data: shared, shape: [1, count] }]) {
          const encoded = encode('FP32', dims, value);
          shared.fill(2);
          assert.ok(encoded.data.buffer instanceof ArrayBuffer);
          assert.deepEqual([...encoded.data], new Array(count).fill(1));
          shared.fill(1);
        }
      }
    }
  });

  for (const count of [4, 400]) {
    for (const dims of [[count], [-1]]) {
      it(`[N,${dims.join()}] is refused where its ${count} elements were transferred away`, () => {
        const gone = (): Float32Array => detach(new Float32Array(count));
        const pattern = /but got detached Float32Array \(its buffer was transferred, or shrunk\)/;
        for (const value of [
          gone(),
          [gone()],
          { data: gone(), shape: [1, count] },
          { data: gone(), shape: [1, 0] },
        ]) {
          const message = refusal(() => encode('FP32', dims, value));
          if ('shape' in value && value.shape[1] === 0 && dims[0] !== -1)
            assert.match(message, /but got shape \[1,0\]/);
          else assert.match(message, pattern);
        }
      });
    }
  }

  it('is refused for BYTES where it was transferred away', () => {
    const gone = detach(Uint8Array.of(1));
    assert.match(
      refusal(() => encode('BYTES', [1], gone)),
      /detached Uint8Array/,
    );
    assert.match(
      refusal(() => encode('BYTES', [1], [[gone]])),
      /detached Uint8Array .* at \[0\]\[0\]/,
    );
  });

  it('may be resizable, and counts as it is now', () => {
    const buffer = resizable(16, 64);
    const view = new Float32Array(buffer);
    assert.deepEqual(encode('FP32', [-1], view).shape, [1, 4]);
    buffer.resize(32);
    assert.deepEqual(encode('FP32', [-1], view).shape, [1, 8]);
    const end = new Float32Array(buffer, 16);
    buffer.resize(8);
    assert.match(
      refusal(() => encode('FP32', [-1], end)),
      /detached Float32Array/,
    );
  });

  it('may begin anywhere in its buffer', () => {
    const buffer = Float32Array.from({ length: 100 }, (_, i) => i).buffer;
    assert.deepEqual(elementsOf('FP32', encode('FP32', [-1], new Float32Array(buffer, 8, 3))), [2, 3, 4]);
    const tail = encode('FP32', [-1], new Float32Array(buffer, 4));
    assert.deepEqual(elementsOf('FP32', tail).slice(0, 2), [1, 2]);
  });

  it('is measured by the language, not by its own properties', () => {
    for (const count of [2, 200]) {
      const liar = new Float32Array(count);
      for (const [key, value] of Object.entries({
        length: 1e9,
        byteLength: 4e9,
        buffer: new ArrayBuffer(0),
      })) {
        Object.defineProperty(liar, key, { value });
      }
      const encoded = encode('FP32', [-1], liar);
      assert.deepEqual([...encoded.shape], [1, count]);
      assert.equal(encoded.byteLength, 4 * count);
      assert.match(
        refusal(() => encode('FP32', [-1], Object.create(Float32Array.prototype))),
        /but got an object/,
      );
    }
  });
});

describe('encoders', () => {
  it('keep requests of one model apart as long as each is copied at once', () => {
    const encoder = encoderOf(8, ['a', 'FP32', [2]], ['b', 'FP32', [2]]);
    const [a, b] = encoder({ a: Float32Array.of(1, 2), b: Float32Array.of(3, 4) });
    assert.deepEqual([...(a?.data ?? []), ...(b?.data ?? [])], [1, 2, 3, 4]);
  });

  it('are not disturbed by a request that a getter makes meanwhile', () => {
    const encoder = encoderOf(8, ['a', 'FP32', [2]], ['b', 'FP32', [2]]);
    const [a] = encoder({
      a: Float32Array.of(1, 2),
      get b(): TensorInput {
        encoder({ a: Float32Array.of(8, 8), b: Float32Array.of(9, 9) });
        return Float32Array.of(3, 4);
      },
    });
    assert.deepEqual([...(a?.data ?? [])], [1, 2]);
  });

  it('read each property of the caller once', () => {
    const reads: string[] = [];
    const spy = <T extends object>(name: string, target: T): T =>
      new Proxy(target, {
        get(of, key, receiver) {
          reads.push(`${name}.${String(key)}`);
          return Reflect.get(of, key, receiver) as unknown;
        },
      });
    const rows = spy('rows', [spy('row', [1, 2])]);
    const shaped = spy('shaped', {
      data: spy('data', [5, 6]),
      shape: spy('shape', [1, 2]),
      datatype: 'FP32' as const,
    });
    encoderOf(8, ['a', 'FP32', [2]], ['b', 'FP32', [2]])(spy('inputs', { a: rows, b: shaped }));
    assert.deepEqual(reads.sort(), [...new Set(reads)].sort());
    assert.ok(reads.includes('inputs.a') && reads.includes('row.1') && reads.includes('shape.0'));
  });

  it('do not let one input take away the memory of another while they are read', () => {
    const data = new Float32Array(100);
    const encoder = encoderOf(8, ['a', 'FP32', [100]], ['b', 'FP32', [-1]]);
    const b = {
      get data(): number[] {
        detach(data);
        return [1];
      },
      shape: [1, 1],
    };
    assert.match(
      refusal(() => encoder({ a: data, b }), 'a'),
      /detached Float32Array/,
    );
  });

  it('refuse lengths that a proxy makes up', () => {
    for (const length of [-1, 1.5, NaN, Infinity, '2', null]) {
      const claim = <T extends object>(target: T): T =>
        new Proxy(target, {
          get: (of, key) => (key === 'length' ? length : Reflect.get(of, key)) as unknown,
        });
      const proxy = claim([1, 2]);
      // Wrong lengths at each level, for inputs that take any shape.
      for (const [dims, nested] of [
        [[-1], [proxy]],
        [[-1], claim([[1], [2]])],
        [[-1, 2], claim([[[1, 2]]])],
        [[-1, 2], [claim([[1, 2]])]],
        [[2, -1], [[proxy, [1, 2]]]],
      ] as const) {
        assert.match(
          refusal(() => encode('FP32', dims, nested)),
          /an array of length/,
        );
      }
      assert.match(
        refusal(() => encode('FP32', [2], [proxy])),
        /an array of length|a row of length/,
      );
      assert.match(
        refusal(() => encode('FP32', [2], { data: [1, 2], shape: proxy })),
        /rank|shape/,
      );
    }
  });

  it('let errors of the caller pass as they are', () => {
    const own = new Error('mine');
    const inputs: Inputs = {
      get x(): TensorInput {
        throw own;
      },
    };
    assert.throws(() => encoderOf(8, ['x', 'FP32', [2]])(inputs), own);
  });

  it('answer whatever comes with wire bytes or an INVALID_ARG', () => {
    const anything = fc.anything({
      maxDepth: 4,
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
    });
    const shaped = fc.record({
      data: anything,
      shape: fc.array(fc.oneof(fc.nat(3), anything)),
      datatype: anything,
    });
    const value = fc.oneof(anything, fc.array(fc.array(anything)), shaped);
    const datatypes = fc.constantFrom(...(Object.keys(datatypeNumber) as Datatype[]));
    const dims = fc.constantFrom([], [1], [-1], [2, -1], [-1, -1]);
    fc.assert(
      fc.property(
        datatypes,
        dims,
        fc.constantFrom(0, 8),
        value,
        (datatype, inputDims, maxBatchSize, given) => {
          const encoder = encoderOf(maxBatchSize, ['x', datatype, inputDims]);
          for (const inputs of [{ x: given }, given]) {
            try {
              const [encoded] = encoder(inputs as Inputs);
              assert.equal(encoded?.shape.length, inputDims.length + Math.sign(maxBatchSize));
              const { data, shape, byteLength } = encoded;
              assert.equal(byteLength, data.byteLength);
              const count = shape.reduce((product, dim) => product * dim, 1);
              if (datatype !== 'BYTES') assert.equal(byteLength, count * datatypeSize[datatype]);
              else assert.equal(echo(datatype, encoded).data.length, count);
            } catch (error) {
              assert.ok(error instanceof TritonError && error.code === 'INVALID_ARG', String(error));
            }
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('give a shape that callers may share', () => {
    const encoder = encoderOf(4096, ['x', 'INT8', [100]]);
    const shapeOf = (batch: number): readonly number[] | undefined =>
      encoder({ x: new Int8Array(100 * batch) })[0]?.shape;
    assert.deepEqual(shapeOf(3), [3, 100]);
    assert.deepEqual(shapeOf(3), [3, 100]);
    assert.equal(shapeOf(3), shapeOf(3));
    assert.deepEqual(shapeOf(4000), [4000, 100]);
  });

  it('name model and tensor in every error', () => {
    assert.throws(
      () => encode('FP32', [64], new Int32Array(64)),
      (error: unknown) =>
        error instanceof TritonError &&
        error.message ===
          "model 'm', input 'x': expected FP32 of shape [N,64], 1 ≤ N ≤ 8, but got Int32Array of length 64; " +
            'FP32 takes Float32Array or numbers within its range',
    );
  });
});
