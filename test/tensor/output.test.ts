import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BytesWriter } from '../../src/tensor/bytes.js';
import { datatypeNumber, type Datatype } from '../../src/tensor/datatype.js';
import { tensorFactory } from '../../src/tensor/output.js';
import { Tensor, type AnyTensor } from '../../src/tensor/tensor.js';
import type { TensorInput } from '../../src/tensor/inputs.js';
import { detach, echo, encode, encoderOf, wireBytes } from './encode.js';

const datatypes = Object.keys(datatypeNumber) as Datatype[];

function bytesTensor(shape: number[], ...elements: readonly (string | Uint8Array)[]): Tensor<'BYTES'> {
  const writer = new BytesWriter(elements.length);
  for (const element of elements) writer.append(element);
  return tensorFactory('BYTES')(shape, writer.finishOwned());
}

/** One tensor of shape [2] for each datatype. */
const samples: readonly AnyTensor[] = [
  tensorFactory('BOOL')([2], Uint8Array.of(1, 0).buffer),
  tensorFactory('UINT8')([2], Uint8Array.of(1, 255).buffer),
  tensorFactory('UINT16')([2], Uint16Array.of(1, 65535).buffer),
  tensorFactory('UINT32')([2], Uint32Array.of(1, 4294967295).buffer),
  tensorFactory('UINT64')([2], BigUint64Array.of(1n, 2n ** 64n - 1n).buffer),
  tensorFactory('INT8')([2], Int8Array.of(1, -128).buffer),
  tensorFactory('INT16')([2], Int16Array.of(1, -32768).buffer),
  tensorFactory('INT32')([2], Int32Array.of(1, -2147483648).buffer),
  tensorFactory('INT64')([2], BigInt64Array.of(1n, -(2n ** 63n)).buffer),
  tensorFactory('FP16')([2], Uint16Array.of(0x3c00, 0xc000).buffer),
  tensorFactory('FP32')([2], Float32Array.of(1, -0.5).buffer),
  tensorFactory('FP64')([2], Float64Array.of(1, -0.1).buffer),
  bytesTensor([2], 'a', Uint8Array.of(255)),
  tensorFactory('BF16')([2], Uint16Array.of(0x3f80, 0xc000).buffer),
];

const arrays: Readonly<Record<Datatype, readonly unknown[]>> = {
  BOOL: [true, false],
  UINT8: [1, 255],
  UINT16: [1, 65535],
  UINT32: [1, 4294967295],
  UINT64: [1n, 2n ** 64n - 1n],
  INT8: [1, -128],
  INT16: [1, -32768],
  INT32: [1, -2147483648],
  INT64: [1n, -(2n ** 63n)],
  FP16: [1, -2],
  FP32: [1, -0.5],
  FP64: [1, -0.1],
  BYTES: [Buffer.from('a'), Buffer.of(255)],
  BF16: [1, -2],
};

describe('a tensor', () => {
  it('exists for every datatype', () => {
    assert.deepEqual(
      samples.map((tensor) => tensor.datatype),
      datatypes,
    );
  });

  for (const tensor of samples) {
    const { datatype } = tensor;

    it(`of ${datatype} has own datatype, shape and data`, () => {
      assert.ok(tensor instanceof Tensor);
      assert.deepEqual(Object.keys(tensor), ['datatype', 'shape', 'data']);
      assert.equal(tensor.data.length, 2);
    });

    it(`of ${datatype} gives its elements as an array`, () => {
      assert.deepEqual(tensor.toArray(), arrays[datatype]);
    });

    it(`of ${datatype} is itself as ${datatype} and refuses to be anything else`, () => {
      assert.equal(tensor.as(datatype), tensor);
      const other = datatype === 'FP32' ? 'INT64' : 'FP32';
      assert.throws(() => tensor.as(other), {
        code: 'INVALID_ARG',
        message: `a tensor of datatype ${datatype} and shape [2] is not ${other}`,
      });
    });

    it(`of ${datatype} has a clone with memory of its own`, () => {
      const copy = tensor.clone();
      assert.deepEqual([copy.datatype, copy.shape, copy.toArray()], [datatype, [2], arrays[datatype]]);
      assert.notEqual(copy.shape, tensor.shape);
      const [ours, theirs] = [tensor, copy].map(({ data }) =>
        Array.isArray(data) ? data[0]?.buffer : data.buffer,
      );
      assert.notEqual(ours, theirs);
    });

    it(`of ${datatype} is taken as an input, as it is and as a structured clone`, () => {
      const fresh = tensor.clone();
      for (const value of [fresh, structuredClone(tensor), structuredClone(fresh), fresh]) {
        assert.deepEqual(echo(datatype, encode(datatype, [2], value, 0)).toArray(), arrays[datatype]);
      }
    });
  }

  it('nests its elements as its shape says', () => {
    const floats = (shape: number[], ...values: number[]): unknown =>
      tensorFactory('FP32')(shape, Float32Array.from(values).buffer).toArray();
    assert.deepEqual(floats([2, 3], 1, 2, 3, 4, 5, 6), [
      [1, 2, 3],
      [4, 5, 6],
    ]);
    assert.deepEqual(floats([1, 2, 1, 2], 1, 2, 3, 4), [[[[1, 2]], [[3, 4]]]]);
    assert.deepEqual(floats([], 7), [7]);
    assert.deepEqual(floats([0]), []);
    assert.deepEqual(floats([2, 0]), [[], []]);
    assert.deepEqual(floats([0, 2]), []);
    assert.deepEqual(floats([2, 0, 3]), [[], []]);
    assert.deepEqual(floats([1, 2, 0]), [[[], []]]);
  });

  it('gives FP32 for numbers, and refuses for booleans, bytes and integers of 64 bits', () => {
    for (const tensor of samples) {
      if (['BOOL', 'BYTES', 'INT64', 'UINT64'].includes(tensor.datatype)) {
        assert.throws(() => tensor.toFloat32(), {
          code: 'INVALID_ARG',
          message: /has no conversion to FP32/,
        });
      } else {
        const expected = Float32Array.from(arrays[tensor.datatype] as number[]);
        assert.deepEqual(tensor.toFloat32(), expected);
      }
    }
    const floats = tensorFactory('FP32')([1], Float32Array.of(1).buffer);
    assert.equal(floats.toFloat32(), floats.data);
  });

  it('has strings only for BYTES', () => {
    for (const tensor of samples.filter(({ datatype }) => datatype !== 'BYTES')) {
      assert.throws(() => tensor.strings(), { code: 'INVALID_ARG', message: /has no strings/ });
    }
  });

  it('says so where its data was transferred away', () => {
    const tensor = tensorFactory('FP16')([2], Uint16Array.of(1, 2).buffer);
    detach(tensor.data);
    const gone = { code: 'INVALID_ARG', message: /has 0 elements left: its buffer was transferred/ };
    assert.throws(() => tensor.toArray(), gone);
    assert.throws(() => tensor.toFloat32(), gone);
    assert.throws(() => tensor.clone(), gone);
  });
});

describe('a tensor of BYTES', () => {
  it('has its elements as Buffers over one ArrayBuffer, made once', () => {
    const tensor = bytesTensor([2, 1], 'ab', 'c');
    const { data } = tensor;
    assert.deepEqual(data, [Buffer.from('ab'), Buffer.from('c')]);
    assert.ok(data.every((element) => Buffer.isBuffer(element) && element.buffer === data[0]?.buffer));
    assert.equal(tensor.data, data);
  });

  it('gives strings before and after its data was looked at', () => {
    const tensor = bytesTensor([3], 'ab', '', 'ü😀');
    assert.deepEqual(tensor.strings(), ['ab', '', 'ü😀']);
    assert.equal(tensor.data.length, 3);
    assert.deepEqual(tensor.strings(), ['ab', '', 'ü😀']);
  });

  it('refuses to give strings for bytes that are not UTF-8', () => {
    const tensor = bytesTensor([2], 'fine', Uint8Array.of(0xff));
    assert.throws(() => tensor.strings(), { code: 'INVALID_ARG', message: /element 1 is not UTF-8/ });
  });

  it('is passed on in one piece where nobody has looked at it', () => {
    const tensor = bytesTensor([1, 2], 'ab', 'c');
    const wire = wireBytes(encode('BYTES', [2], bytesTensor([1, 2], 'ab', 'c')));
    assert.deepEqual(wireBytes(encode('BYTES', [2], tensor)), wire);
    assert.equal(tensor.data.length, 2);
    assert.deepEqual(wireBytes(encode('BYTES', [2], tensor)), wire);
  });

  it('is passed on with what the caller changed in it', () => {
    const tensor = bytesTensor([2], 'ab', 'c');
    tensor.data[1] = Buffer.from('changed');
    tensor.data[0]?.fill('x');
    assert.deepEqual(echo('BYTES', encode('BYTES', [2], tensor, 0)).strings(), ['xx', 'changed']);
    assert.deepEqual(tensor.clone().strings(), ['xx', 'changed']);
    assert.deepEqual(tensor.strings(), ['xx', 'changed']);
  });

  it('is safe from other inputs that look at it while they are read', () => {
    const tensor = bytesTensor([1, 1], 'safe');
    const encoder = encoderOf(8, ['a', 'BYTES', [1]], ['b', 'FP32', [1]]);
    const [a] = encoder({
      a: tensor,
      b: {
        get data(): TensorInput & number[] {
          detach(new Uint8Array(tensor.data[0]?.buffer as ArrayBuffer));
          return [1];
        },
        shape: [1, 1],
      },
    });
    assert.ok(a);
    assert.deepEqual(echo('BYTES', a).strings(), ['safe']);
    assert.throws(() => tensor.clone(), {
      code: 'INVALID_ARG',
      message: /elements whose buffer was transferred/,
    });
  });

  it('is refused as an input where its shape is not that of its elements', () => {
    const tensor = bytesTensor([1, 3], 'a', 'b');
    assert.throws(() => encode('BYTES', [3], tensor), {
      code: 'INVALID_ARG',
      message: /but got 10 bytes of 2 elements for shape \[1,3\], which has 3 elements/,
    });
    assert.throws(() => tensor.data, {
      code: 'INTERNAL',
      message: /a BYTES tensor of 3 elements has 2 elements/,
    });
  });
});
