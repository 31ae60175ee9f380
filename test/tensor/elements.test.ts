import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import vm from 'node:vm';
import type { Datatype } from '../../src/tensor/datatype.js';
import { bf16, fp16 } from '../../src/tensor/half.js';
import { elementsOf, encode, refusal } from './encode.js';

const bigints = [1n, -2n, 2n ** 63n - 1n, -(2n ** 63n)];
const unsigned = [1n, 0n, 2n ** 64n - 1n];

/** Datatype, a value for an input of dims [-1] with its batch, and the elements that the model gets. */
const accepted: readonly [Datatype, unknown, readonly unknown[]][] = [
  ['BOOL', Uint8Array.of(0, 1), [false, true]],
  ['BOOL', [[true, false]], [true, false]],
  ['BOOL', [Uint8Array.of(1, 0)], [true, false]],
  ['BOOL', { data: [true], shape: [1, 1] }, [true]],
  ['UINT8', Uint8Array.of(0, 255), [0, 255]],
  ['UINT8', Buffer.of(1, 2), [1, 2]],
  ['UINT8', Uint8ClampedArray.of(300, 2), [255, 2]],
  ['UINT8', new Uint8ClampedArray(100).fill(7), new Array(100).fill(7)],
  ['UINT8', [Uint8ClampedArray.of(4)], [4]],
  ['UINT8', [[0, 255]], [0, 255]],
  ['UINT16', Uint16Array.of(65535), [65535]],
  ['UINT16', [[0, 65535]], [0, 65535]],
  ['UINT32', Uint32Array.of(4294967295), [4294967295]],
  ['UINT32', [[4294967295]], [4294967295]],
  ['UINT64', BigUint64Array.from(unsigned), unsigned],
  ['UINT64', [[...unsigned, 5, Number.MAX_SAFE_INTEGER]], [...unsigned, 5n, 9007199254740991n]],
  ['INT8', Int8Array.of(-128, 127), [-128, 127]],
  ['INT8', [[-128, 127]], [-128, 127]],
  ['INT16', Int16Array.of(-32768), [-32768]],
  ['INT16', [[-32768, 32767]], [-32768, 32767]],
  ['INT32', Int32Array.of(-2147483648), [-2147483648]],
  ['INT32', [[-2147483648, 2147483647]], [-2147483648, 2147483647]],
  ['INT32', [[-0]], [0]],
  ['INT64', BigInt64Array.from(bigints), bigints],
  ['INT64', [[...bigints, -5, Number.MIN_SAFE_INTEGER, -0]], [...bigints, -5n, -9007199254740991n, 0n]],
  ['INT64', [BigInt64Array.from(bigints)], bigints],
  ['FP16', Uint16Array.of(0x3c00, 0xc000), [1, -2]],
  ['FP16', Float32Array.of(1, 0.1, -Infinity, NaN), [1, fp16.decode(fp16.encode(0.1)), -Infinity, NaN]],
  ['FP16', new Float32Array(50).fill(65519), new Array(50).fill(65504)],
  ['FP16', [[1, 65519.999, NaN, -Infinity]], [1, 65504, NaN, -Infinity]],
  ['FP16', [Float32Array.of(2), Uint16Array.of(0x3c00), [3]], [2, 1, 3]],
  ['BF16', Uint16Array.of(0x3f80, 0xc000), [1, -2]],
  ['BF16', Float32Array.of(1, 0.1), [1, bf16.decode(bf16.encode(0.1))]],
  ['BF16', [[1, -1e38]], [1, bf16.decode(bf16.encode(-1e38))]],
  ['FP32', Float32Array.of(1.5, NaN), [1.5, NaN]],
  ['FP32', new Float32Array(50).fill(-2), new Array(50).fill(-2)],
  [
    'FP32',
    [[0.1, -0, Infinity, NaN, 3.4028235e38]],
    [Math.fround(0.1), -0, Infinity, NaN, 3.4028234663852886e38],
  ],
  ['FP32', { data: [1, 2], shape: [2, 1] }, [1, 2]],
  ['FP64', Float64Array.of(0.1), [0.1]],
  ['FP64', [[1e308, -0, NaN]], [1e308, -0, NaN]],
  ['BYTES', 'añ', [Buffer.from('añ')]],
  ['BYTES', Buffer.of(0, 255), [Buffer.of(0, 255)]],
  ['BYTES', [['a', Uint8Array.of(0), '']], [Buffer.from('a'), Buffer.of(0), Buffer.of()]],
  ['BYTES', { data: ['a', 'b'], shape: [2, 1] }, [Buffer.from('a'), Buffer.from('b')]],
  ['BYTES', { data: 'abc', shape: [1, 1] }, [Buffer.from('abc')]],
  ['BYTES', { data: Uint8Array.of(1, 2), shape: [1, 1] }, [Buffer.of(1, 2)]],
];

/** Datatype, value, and patterns for the message. */
const refused: readonly [Datatype, unknown, ...RegExp[]][] = [
  ['BOOL', Uint8Array.of(0, 2), /2 at \[1\]/, /BOOL/],
  ['BOOL', new Uint8Array(100).fill(1).fill(255, 99), /255 at \[99\]/],
  ['BOOL', [[true, 1]], /1 at \[0\]\[1\]/],
  ['BOOL', [[0]], /0 at \[0\]\[0\]/],
  ['BOOL', [Uint8Array.of(0, 3)], /3 at \[0\]\[1\]/],
  ['BOOL', Int8Array.of(1), /Int8Array of length 1/, /Uint8Array of 0 and 1, or booleans/],
  ['BOOL', Uint8ClampedArray.of(1), /Uint8ClampedArray/],
  ['UINT8', [[256]], /256 at \[0\]\[0\]/, /UINT8 \(integers from 0 to 255\)/],
  ['UINT8', [[-1]], /-1 at/],
  ['UINT8', Int8Array.of(1), /Int8Array/],
  ['UINT16', [[65536]], /65536/],
  ['UINT16', Int16Array.of(1), /Int16Array/],
  ['UINT32', [[4294967296]], /4294967296/],
  ['UINT32', Int32Array.of(1), /Int32Array/],
  ['UINT64', [[-1]], /-1 at/],
  ['UINT64', [[-1n]], /-1n at/],
  ['UINT64', [[2n ** 64n]], /18446744073709551616n/],
  ['UINT64', BigInt64Array.of(1n), /BigInt64Array/],
  ['INT8', [[128]], /128/],
  ['INT8', Uint8Array.of(1), /Uint8Array/],
  ['INT16', [[-32769]], /-32769/],
  ['INT32', [[1.5]], /1.5 at \[0\]\[0\]/, /INT32/],
  ['INT32', [[NaN]], /NaN/],
  ['INT32', [[Infinity]], /Infinity/],
  ['INT32', [[1n]], /1n/],
  ['INT32', [['1']], /the string '1'/],
  ['INT32', [[true]], /true/],
  ['INT32', { data: [1, 2147483648], shape: [1, 2] }, /2147483648 at \[1\]/],
  ['INT64', [[2 ** 53]], /9007199254740992/],
  ['INT64', [[1.5]], /1.5/],
  ['INT64', [[2n ** 63n]], /9223372036854775808n/],
  ['INT64', [[10n ** 5000n]], /a very large bigint/],
  ['INT64', [['1']], /the string '1'/],
  ['INT64', Int32Array.of(1), /Int32Array of length 1/, /takes BigInt64Array/],
  ['INT64', BigUint64Array.of(1n), /BigUint64Array/],
  ['INT64', [Int32Array.of(1)], /Int32Array of length 1 at \[0\]/],
  ['FP16', [[65520]], /65520/],
  ['FP16', [[1n]], /1n/],
  ['FP16', Float32Array.of(1, -65520), /-65520 at \[1\]/, /FP16/],
  ['FP16', [Float32Array.of(70000)], /70000 at \[0\]\[0\]/],
  ['FP16', Float64Array.of(1), /Float64Array/, /Uint16Array of bits, Float16Array, Float32Array or numbers/],
  ['FP16', Int16Array.of(1), /Int16Array/],
  ['BF16', [[3.4e38]], /3.4e\+38/],
  ['BF16', Float32Array.of(3.4e38), /at \[0\]/],
  ['BF16', Float64Array.of(1), /Float64Array/],
  ['FP32', [[1e39]], /1e\+39 at \[0\]\[0\]/, /FP32/],
  ['FP32', [[-3.4028235677973366e38]], /-3.4028235677973366e\+38/],
  ['FP32', [[1n]], /1n/],
  ['FP32', [[null]], /null at \[0\]\[0\]/],
  ['FP32', [[undefined]], /undefined at \[0\]\[0\]/],
  ['FP32', [new Array(3).fill(1, 0, 1)], /undefined at \[0\]\[1\]/],
  ['FP32', [[[1]]], /an array \(nested deeper than \[N,-1\], 1 ≤ N ≤ 8\) at \[0\]\[0\]/],
  ['FP32', Int32Array.of(1), /Int32Array of length 1/, /takes Float32Array or numbers/],
  ['FP32', Float64Array.of(1), /Float64Array/],
  ['FP32', new DataView(new ArrayBuffer(4)), /a DataView/],
  ['FP32', new ArrayBuffer(4), /an ArrayBuffer \(wrap it in a typed array\)/],
  ['FP32', Promise.resolve([1]), /a Promise \(await it first\)/],
  ['FP32', new Map(), /a Map/],
  ['FP32', new Set([1]), /a Set/],
  ['FP32', new Date(0), /a Date/],
  ['FP32', 1, /but got 1$/],
  ['FP32', 1n, /but got 1n$/],
  ['FP32', 'text', /the string 'text'/],
  ['FP32', true, /but got true/],
  ['FP32', null, /but got null/],
  ['FP32', Symbol('x'), /a symbol/],
  ['FP32', (): number => 1, /a function/],
  ['FP64', [[1n]], /1n/],
  ['FP64', Float32Array.of(1), /Float32Array/],
  ['BYTES', [[1]], /1 at \[0\]\[0\]/, /BYTES \(well-formed strings or Uint8Arrays\)/],
  ['BYTES', [['\ud800']], /at \[0\]\[0\]/],
  ['BYTES', '\udc00', /well-formed/],
  ['BYTES', Int8Array.of(1), /Int8Array/],
  ['BYTES', [[Int8Array.of(1)]], /Int8Array of length 1 at \[0\]\[0\]/],
  ['BYTES', { data: Float32Array.of(1), shape: [1, 1] }, /Float32Array of length 1 for 'data'/],
];

describe('accepted values', () => {
  for (const [datatype, value, expected] of accepted) {
    it(`${datatype} takes ${label(value)}`, () => {
      assert.deepEqual(elementsOf(datatype, encode(datatype, [-1], value)), expected);
    });
  }

  it('FP16 takes a Float16Array', { skip: skipFloat16() }, () => {
    const constructor = (globalThis as { Float16Array?: new (values: number[]) => ArrayBufferView })
      .Float16Array;
    assert.ok(constructor);
    for (const values of [[1, -2.5], new Array<number>(100).fill(0.5)]) {
      assert.deepEqual(elementsOf('FP16', encode('FP16', [-1], new constructor(values))), values);
      assert.deepEqual(elementsOf('FP16', encode('FP16', [-1], [new constructor(values)])), values);
    }
    assert.match(
      refusal(() => encode('BF16', [-1], new constructor([1]))),
      /Float16Array/,
    );
  });

  it('typed arrays of another realm are taken like those of this one', () => {
    for (const text of ['new Float32Array([1, 2, 3, 4])', 'new Float32Array(64)', '[[1, 2, 3]]']) {
      const encoded = encode('FP32', [-1], vm.runInNewContext(text));
      assert.equal(encoded.byteLength, elementsOf('FP32', encoded).length * 4);
    }
  });
});

describe('refused values', () => {
  for (const [datatype, value, ...patterns] of refused) {
    it(`${datatype} refuses ${label(value)}`, () => {
      const message = refusal(() => encode(datatype, [-1], value));
      assert.match(message, /^model 'm', input 'x': expected /);
      for (const pattern of patterns) assert.match(message, pattern);
    });
  }
});

function skipFloat16(): string | false {
  return 'Float16Array' in globalThis ? false : 'this version of Node has no Float16Array';
}

/** A value in a test's title. */
function label(value: unknown): string {
  return inspect(value, {
    depth: 4,
    maxArrayLength: 6,
    maxStringLength: 20,
    breakLength: Infinity,
    compact: true,
  }).slice(0, 90);
}
