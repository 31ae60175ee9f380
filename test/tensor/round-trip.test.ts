import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../support/fast-check.js';
import { datatypeNumber, type Datatype } from '../../src/tensor/datatype.js';
import { bf16, fp16, type HalfFormat } from '../../src/tensor/half.js';
import { nest } from '../../src/tensor/to-array.js';
import { echo, encode } from './encode.js';

interface Element {
  /** The value that the caller passes. */
  readonly given: unknown;
  /** The value that `toArray` returns. */
  readonly got: unknown;
}

function same(arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<Element> {
  return arbitrary.map((value) => ({ given: value, got: value }));
}

function integer(min: number, max: number): fc.Arbitrary<Element> {
  return same(fc.integer({ min, max }));
}

function bigint(min: bigint, max: bigint, minSafe: number): fc.Arbitrary<Element> {
  const safe = fc.integer({ min: minSafe, max: Number.MAX_SAFE_INTEGER });
  return fc.oneof(
    same(fc.bigInt({ min, max })),
    safe.map((value) => ({ given: value, got: BigInt(value) })),
  );
}

function half(format: HalfFormat): fc.Arbitrary<Element> {
  const fits = (value: number): boolean => !(Math.abs(value) >= format.overflow && Number.isFinite(value));
  return fc
    .oneof(fc.double(), fc.double({ min: -70000, max: 70000, noNaN: true }))
    .filter(fits)
    .map((value) => ({ given: value, got: format.decode(format.encode(value)) }));
}

const elements: Readonly<Record<Datatype, fc.Arbitrary<Element>>> = {
  BOOL: same(fc.boolean()),
  UINT8: integer(0, 2 ** 8 - 1),
  UINT16: integer(0, 2 ** 16 - 1),
  UINT32: integer(0, 2 ** 32 - 1),
  UINT64: bigint(0n, 2n ** 64n - 1n, 0),
  INT8: integer(-(2 ** 7), 2 ** 7 - 1),
  INT16: integer(-(2 ** 15), 2 ** 15 - 1),
  INT32: integer(-(2 ** 31), 2 ** 31 - 1),
  INT64: bigint(-(2n ** 63n), 2n ** 63n - 1n, Number.MIN_SAFE_INTEGER),
  FP16: half(fp16),
  FP32: same(fc.float()),
  FP64: same(fc.double()),
  BYTES: fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => ({ given: text, got: Buffer.from(text) })),
    fc.uint8Array().map((bytes) => ({ given: bytes, got: Buffer.from(bytes) })),
  ),
  BF16: half(bf16),
};

interface Sample {
  readonly shape: readonly number[];
  readonly flat: readonly Element[];
}

function samples(element: fc.Arbitrary<Element>): fc.Arbitrary<Sample> {
  return fc
    .tuple(fc.integer({ min: 1, max: 4 }), fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 }))
    .chain(([batch, dims]) => {
      const count = dims.reduce((product, dim) => product * dim, batch);
      const flat = fc.array(element, { minLength: count, maxLength: count });
      return flat.map((values) => ({ shape: [batch, ...dims], flat: values }));
    });
}

for (const datatype of Object.keys(datatypeNumber) as Datatype[]) {
  describe(`${datatype} tensors of any shape and content`, () => {
    const check = (
      input: (given: readonly unknown[], shape: readonly number[]) => unknown,
      applies: (sample: Sample) => boolean = () => true,
    ): void => {
      const property = fc.property(samples(elements[datatype]), ({ shape, flat }) => {
        fc.pre(applies({ shape, flat }));
        const given = flat.map((element) => element.given);
        const got = flat.map((element) => element.got);
        const anyDims = shape.slice(1).map(() => -1);
        for (const [dims, maxBatchSize] of [
          [anyDims, 8],
          [shape.map(() => -1), 0],
        ] as const) {
          const tensor = echo(datatype, encode(datatype, dims, input(given, shape), maxBatchSize));
          assert.deepEqual(tensor.shape, shape);
          assert.deepEqual(tensor.toArray(), nest(got, shape));
        }
      });
      fc.assert(property, { numRuns: 50 });
    };

    it('come back equal from nested arrays', () => {
      // If an outer dim is 0, nesting does not show the inner ones.
      check(nest, ({ shape }) => !shape.slice(0, -1).includes(0));
    });

    it('come back equal from a list with a shape', () => {
      check((data, shape) => ({ data, shape, datatype }));
    });

    it('come back equal when passed on, and as a structured clone', () => {
      check((data, shape) =>
        echo(
          datatype,
          encode(
            datatype,
            shape.map(() => -1),
            { data, shape },
            0,
          ),
        ),
      );
      check((data, shape) =>
        structuredClone(
          echo(
            datatype,
            encode(
              datatype,
              shape.map(() => -1),
              { data, shape },
              0,
            ),
          ),
        ),
      );
    });

    if (datatype !== 'BYTES') {
      it('come back equal from a typed array, with the shape and in rows', () => {
        const typed = (data: readonly unknown[]): { slice(from: number, to: number): unknown } => {
          const encoded = encode(datatype, [-1], { data, shape: [data.length] }, 0);
          return encoded.data;
        };
        check((data, shape) => ({ data: typed(data), shape }));
        check(
          (data, shape) => {
            const all = typed(data);
            const width = shape.at(-1) ?? 1;
            const rows = data.flatMap((_, i) => (i % width === 0 ? [all.slice(i, i + width)] : []));
            return nest(rows, shape.slice(0, -1));
          },
          ({ shape }) => shape.length > 1 && !shape.includes(0),
        );
      });
    }
  });
}
