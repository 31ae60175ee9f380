import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InputEncoder } from '../../src/tensor/input.js';
import { encode, encoderOf, refusal } from './encode.js';

/** Dims, max_batch_size, value, and the shape that it gets. */
const shaped: readonly [readonly number[], number, unknown, readonly number[]][] = [
  [[2, 3], 8, new Float32Array(6), [1, 2, 3]],
  [[2, 3], 8, new Float32Array(48), [8, 2, 3]],
  [[2, 3], 0, new Float32Array(6), [2, 3]],
  [[], 8, new Float32Array(5), [5]],
  [[], 0, new Float32Array(1), []],
  [[1], 8, new Float32Array(5), [5, 1]],
  [[-1], 8, new Float32Array(5), [1, 5]],
  [[-1], 8, new Float32Array(500), [1, 500]],
  [[-1, 3], 8, new Float32Array(6), [1, 2, 3]],
  [[2, -1], 0, new Float32Array(6), [2, 3]],
  [[-1], 8, new Float32Array(0), [1, 0]],
  [[-1, 3], 0, new Float32Array(0), [0, 3]],
  [
    [2, 3],
    8,
    [
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    [1, 2, 3],
  ],
  [[2, 3], 8, [[Float32Array.of(1, 2, 3), [4, 5, 6]]], [1, 2, 3]],
  [
    [-1, -1],
    8,
    [
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    [1, 2, 3],
  ],
  [[-1], 8, [[], []], [2, 0]],
  [[-1], 8, [new Float32Array(0)], [1, 0]],
  [[-1], 0, [], [0]],
  [[-1, -1], 0, [[], []], [2, 0]],
  [[-1, -1], 8, { data: new Float32Array(6), shape: [1, 3, 2] }, [1, 3, 2]],
  [[-1, -1], 8, { data: [], shape: [2, 0, 7] }, [2, 0, 7]],
  [[-1, 2], 0, { data: new Float32Array(0), shape: [0, 2] }, [0, 2]],
  [[], 0, { data: [5], shape: [] }, []],
  [[3], 2, { data: new Float32Array(6), shape: Object.freeze([2, 3]), datatype: 'FP32' }, [2, 3]],
];

/** Dims, max_batch_size, value, and the message after the name of the input. */
const misshapen: readonly [readonly number[], number, unknown, string][] = [
  [
    [64],
    8,
    new Float32Array(63),
    'expected FP32 of shape [N,64], 1 ≤ N ≤ 8, but got Float32Array of length 63',
  ],
  [
    [64],
    8,
    new Float32Array(0),
    'expected FP32 of shape [N,64], 1 ≤ N ≤ 8, but got Float32Array of length 0: a batch of 0',
  ],
  [
    [64],
    8,
    new Float32Array(576),
    'expected FP32 of shape [N,64], 1 ≤ N ≤ 8, but got Float32Array of length 576: a batch of 9 is over max_batch_size',
  ],
  [
    [64],
    1,
    new Float32Array(128),
    'expected FP32 of shape [N,64], N = 1, but got Float32Array of length 128: a batch of 2 is over max_batch_size',
  ],
  [[2, 3], 0, new Float32Array(12), 'expected FP32 of shape [2,3], but got Float32Array of length 12'],
  [
    [2, -1],
    8,
    new Float32Array(5),
    'expected FP32 of shape [N,2,-1], 1 ≤ N ≤ 8, but got Float32Array of length 5',
  ],
  [
    [-1, -1],
    8,
    new Float32Array(6),
    'expected FP32 of shape [N,-1,-1], 1 ≤ N ≤ 8, but got Float32Array of length 6: for 2 variable dims pass { data, shape }',
  ],
  [
    [3, 2, 2],
    8,
    { data: new Float32Array(12), shape: [3, 2, 2] },
    'shape [3,2,2]: expected [N,3,2,2], 1 ≤ N ≤ 8; for one item pass [1,3,2,2]',
  ],
  [[3], 8, { data: [1, 2, 3], shape: [3] }, 'shape [3]: expected [N,3], 1 ≤ N ≤ 8; for one item pass [1,3]'],
  [[3], 8, { data: [1, 2], shape: [2] }, 'shape [2]: expected [N,3], 1 ≤ N ≤ 8'],
  [
    [-1, 2],
    8,
    [Float32Array.of(1, 2)],
    'shape [1,2]: expected [N,-1,2], 1 ≤ N ≤ 8; for one item pass [1,1,2]',
  ],
  [
    [3],
    8,
    { data: new Float32Array(3), shape: [1, 1, 3] },
    'expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got shape [1,1,3]',
  ],
  [
    [3],
    8,
    { data: new Float32Array(4), shape: [1, 4] },
    'expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got shape [1,4]',
  ],
  [
    [3],
    8,
    { data: [], shape: [0, 3] },
    'expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got shape [0,3]: a batch of 0',
  ],
  [
    [-1],
    8,
    { data: [], shape: [0, 0] },
    'expected FP32 of shape [N,-1], 1 ≤ N ≤ 8, but got shape [0,0]: a batch of 0',
  ],
  [
    [1],
    8,
    [[1], [1], [1], [1], [1], [1], [1], [1], [1]],
    'expected FP32 of shape [N,1], 1 ≤ N ≤ 8, but got shape [9,1]: a batch of 9 is over max_batch_size',
  ],
  [
    [3],
    8,
    { data: new Float32Array(4), shape: [1, 3] },
    'expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got Float32Array of length 4 for shape [1,3], which has 3 elements',
  ],
  [
    [3],
    8,
    { data: [1, 2], shape: [1, 3] },
    'expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got an array of length 2 for shape [1,3], which has 3 elements',
  ],
  [
    [3],
    8,
    { data: [[1, 2, 3]], shape: [1, 3] },
    'expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got an array of length 1 for shape [1,3], which has 3 elements',
  ],
  [
    [1],
    8,
    { data: [[1]], shape: [1, 1] },
    'expected FP32 (numbers within its range), but got an array (nested deeper than [N,1], 1 ≤ N ≤ 8) at [0]',
  ],
  [
    [3],
    8,
    { data: new Float32Array(3), shape: [1, 3], datatype: 'INT64' },
    "expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got datatype 'INT64' of shape [1,3]",
  ],
  [
    [3],
    8,
    { data: new Float32Array(3), shape: [1, 3], datatype: 7 },
    'expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got datatype 7 of shape [1,3]',
  ],
  [
    [3],
    8,
    { data: new Float32Array(3) },
    "expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got an object without 'shape'",
  ],
  [[3], 8, { shape: [1, 3] }, "expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got undefined for 'data'"],
  [
    [3],
    8,
    { data: 'abc', shape: [1, 3] },
    "expected FP32 of shape [N,3], 1 ≤ N ≤ 8, but got the string 'abc' for 'data'",
  ],
  [
    [-1],
    8,
    { data: [1], shape: [1, -1] },
    'expected FP32 of shape [N,-1], 1 ≤ N ≤ 8, but got -1 at shape[1], which must be an integer from 0 to 2147483647',
  ],
  [
    [-1],
    8,
    { data: [1], shape: [1.5, 1] },
    'expected FP32 of shape [N,-1], 1 ≤ N ≤ 8, but got 1.5 at shape[0], which must be an integer from 0 to 2147483647',
  ],
  [
    [-1],
    8,
    { data: [1], shape: [1, 2 ** 31] },
    'expected FP32 of shape [N,-1], 1 ≤ N ≤ 8, but got 2147483648 at shape[1], which must be an integer from 0 to 2147483647',
  ],
  [
    [-1],
    8,
    { data: [1], shape: [1, 1n] },
    'expected FP32 of shape [N,-1], 1 ≤ N ≤ 8, but got 1n at shape[1], which must be an integer from 0 to 2147483647',
  ],
  [
    [-1],
    8,
    { data: [1], shape: '1,1' },
    "expected FP32 of shape [N,-1], 1 ≤ N ≤ 8, but got the string '1,1' for 'shape', which must be an array of integers",
  ],
  [
    [-1],
    8,
    { data: [1], shape: new Array(2000).fill(1) },
    'expected FP32 of shape [N,-1], 1 ≤ N ≤ 8, but got a shape of rank 2000',
  ],
  [[4], 8, [[1, 2], [3]], 'ragged nesting: length 1 at [1], where others have 2'],
  [[4], 8, [1, [2]], 'ragged nesting: an array at [1], where others have an element'],
  [[2], 8, [[1, 2], [3]], 'ragged nesting: length 1 at [1], where others have 2'],
  [[2], 8, [[1, 2], 3], 'ragged nesting: 3 at [1], where others have arrays'],
  [[2], 8, [[1, 2], Float32Array.of(3)], 'ragged nesting: length 1 at [1], where others have 2'],
  [
    [2, 2],
    8,
    [
      [
        [1, 2],
        [3, 4],
      ],
      [[1, 2]],
    ],
    'ragged nesting: length 1 at [1], where others have 2',
  ],
  [
    [2, 2],
    8,
    [
      [
        [1, 2],
        [3, 4],
      ],
      Float32Array.of(1, 2),
    ],
    'ragged nesting: Float32Array of length 2 at [1], where others have arrays',
  ],
  [[2], 8, [[1, 2], undefined], 'expected FP32 of shape [N,2], 1 ≤ N ≤ 8, but got undefined at [1]'],
  [[2], 8, [[1, 2], {}], 'expected FP32 of shape [N,2], 1 ≤ N ≤ 8, but got an object at [1]'],
  [[-1], 8, [], 'shape [0]: expected [N,-1], 1 ≤ N ≤ 8; for one item pass [1,0]'],
  [[-1, -1], 8, [[], []], 'shape [2,0]: expected [N,-1,-1], 1 ≤ N ≤ 8; for one item pass [1,2,0]'],
  [[], 8, { data: [1], shape: [] }, 'shape []: expected [N], 1 ≤ N ≤ 8; for one item pass [1]'],
  [[], 0, [1], 'expected FP32 of shape [], but got an array; pass { data, shape: [] }'],
];

describe('the shape of an input', () => {
  for (const [dims, maxBatchSize, value, shape] of shaped) {
    it(`[${dims.join()}] with max_batch_size ${maxBatchSize} takes ${title(value)} as [${shape.join()}]`, () => {
      const encoded = encode('FP32', dims, value, maxBatchSize);
      assert.deepEqual([...encoded.shape], shape);
      assert.equal(encoded.byteLength, 4 * shape.reduce((count, dim) => count * dim, 1));
    });
  }

  it('is worked out from the batch of other inputs where a dim is variable', () => {
    const encoder = encoderOf(8, ['ids', 'INT64', [-1]], ['x', 'FP32', [2]], ['y', 'FP32', [-1, 3]]);
    for (const x of [
      new Float32Array(4),
      [
        [1, 2],
        [3, 4],
      ],
      { data: [1, 2, 3, 4], shape: [2, 2] },
    ]) {
      const encoded = encoder({ ids: new BigInt64Array(10), x, y: new Float32Array(6) });
      assert.deepEqual(
        encoded.map((input) => input?.shape),
        [
          [2, 5],
          [2, 2],
          [2, 1, 3],
        ],
      );
    }
  });

  it('has a batch of 1 where every input has a variable dim', () => {
    const encoder = encoderOf(8, ['ids', 'INT64', [-1]], ['mask', 'BOOL', [-1]]);
    const encoded = encoder({ ids: new BigInt64Array(10), mask: new Uint8Array(10) });
    assert.deepEqual(
      encoded.map((input) => input?.shape),
      [
        [1, 10],
        [1, 10],
      ],
    );
  });

  it('of a lone string is that of one item', () => {
    assert.deepEqual(encode('BYTES', [1], 'text').shape, [1, 1]);
    assert.deepEqual(encode('BYTES', [-1], 'text').shape, [1, 1]);
    assert.deepEqual(encode('BYTES', [1], Buffer.of(1, 2, 3), 0).shape, [1]);
    assert.match(
      refusal(() => encode('BYTES', [2], 'text')),
      /expected BYTES of shape \[N,2\].* but got the string 'text'/,
    );
  });

  it('counts batches of a model without a batch dimension for no mismatch', () => {
    const encoder = encoderOf(0, ['a', 'FP32', [2]], ['b', 'FP32', [-1]]);
    const encoded = encoder({ a: new Float32Array(2), b: new Float32Array(3) });
    assert.deepEqual(
      encoded.map((input) => input?.shape),
      [[2], [3]],
    );
  });
});

describe('a shape that does not fit', () => {
  for (const [dims, maxBatchSize, value, message] of misshapen) {
    it(`[${dims.join()}] with max_batch_size ${maxBatchSize} refuses ${title(value)}`, () => {
      assert.equal(
        refusal(() => encode('FP32', dims, value, maxBatchSize)),
        `model 'm', input 'x': ${message}`,
      );
    });
  }

  it('is refused where the batches of inputs differ', () => {
    const encoder = encoderOf(8, ['a', 'FP32', [2]], ['b', 'INT32', [2]]);
    const message = refusal(() => encoder({ a: new Float32Array(4), b: new Int32Array(6) }), 'b');
    assert.equal(
      message,
      "model 'm', input 'b': expected INT32 of shape [N,2], 1 ≤ N ≤ 8, but got a batch of 3, where input 'a' has a batch of 2",
    );
  });

  it('is refused where a variable dim does not divide into the batch of other inputs', () => {
    const encoder = encoderOf(8, ['a', 'FP32', [2]], ['b', 'INT32', [-1]]);
    const message = refusal(() => encoder({ a: new Float32Array(4), b: new Int32Array(5) }), 'b');
    assert.match(message, /but got Int32Array of length 5, and the batch of other inputs is 2$/);
  });

  it('is refused without asking for memory where a list or a nesting claims to be huge', () => {
    assert.match(
      refusal(() => encode('FP64', [-1], [new Array(2 ** 31)])),
      /an array of length 2147483648/,
    );
    assert.match(
      refusal(() => encode('FP64', [-1], { data: new Array(2 ** 31 - 1), shape: [1, 2 ** 31 - 1] })),
      /an array of length 2147483647; pass a typed array/,
    );
  });

  it('ends at the configured rank however deep the nesting goes', () => {
    const endless: unknown[] = [];
    endless.push(endless);
    assert.match(
      refusal(() => encode('FP32', [-1], endless)),
      /an array \(nested deeper than \[N,-1\]/,
    );
  });
});

describe('a batch over a max_batch_size that was not written', () => {
  for (const [from, advice] of [
    [
      'default',
      /was completed to 2, the default, .*backendConfig: \{ fil: \{ 'default-max-batch-size': 3 \} \}$/,
    ],
    ['model', /was completed to 2, the most rows of the plan's profiles .* with one for larger batches$/],
    [false, /over max_batch_size$/],
  ] as const) {
    it(`is refused with what helps: ${String(from)}`, () => {
      const encoder = new InputEncoder({
        model: 'm',
        maxBatchSize: 2,
        batchSizeCompleted: from,
        backend: 'fil',
        inputs: [{ name: 'x', datatype: 'FP32', dims: [1], optional: false }],
      });
      assert.throws(() => encoder.encode({ x: new Float32Array(3) }), {
        code: 'INVALID_ARG',
        message: advice,
      });
    });
  }
});

/** A value in a test's title. */
function title(value: unknown): string {
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.byteLength} bytes`;
  return JSON.stringify(value, (_, part: unknown) => {
    if (ArrayBuffer.isView(part)) return title(part);
    return typeof part === 'bigint' ? part.toString() : part;
  }).slice(0, 80);
}
