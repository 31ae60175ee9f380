import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../support/fast-check.js';
import { slabBytes, slabMostBytes, slabUnit } from '../../src/addon/layout.js';
import { SlabAllocator } from '../../src/dispatch/requests/slabs.js';

/** An allocator, and a function that tells how many slabs it has asked for. */
function allocator(limit = 64 * slabBytes): { slab: SlabAllocator; slabs: () => number } {
  let slabs = 0;
  const slab = new SlabAllocator(() => {
    slabs++;
  }, limit);
  return { slab, slabs: () => slabs };
}

/** The size of the range for `bytes`: a power of two from 64 on. */
function sizeOf(bytes: number): number {
  return Math.max(64, 2 ** Math.ceil(Math.log2(bytes)));
}

const bytes = fc.integer({ min: 1, max: slabMostBytes });
/** Each step takes this many bytes, or frees one of the taken ranges. */
const steps = fc.array(
  fc.oneof(
    bytes.map((take) => ({ take })),
    fc.nat().map((free) => ({ free })),
  ),
  {
    maxLength: 400,
  },
);

test('whatever is taken and freed, ranges in use lie in their slab and never overlap', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const { slab, slabs } = allocator();
      const used: { position: number; bytes: number }[] = [];
      for (const step of list) {
        if ('free' in step) {
          const [range] = used.splice(step.free % Math.max(1, used.length), 1);
          if (range) slab.free(range.position / slabUnit, range.bytes);
          continue;
        }
        const position = slab.take(step.take) * slabUnit;
        assert.ok(position >= 0 && position + step.take <= slabs() * slabBytes);
        assert.equal(Math.floor(position / slabBytes), Math.floor((position + step.take - 1) / slabBytes));
        for (const other of used) {
          assert.ok(position + step.take <= other.position || other.position + other.bytes <= position);
        }
        used.push({ position, bytes: step.take });
      }
    }),
    { numRuns: 60 },
  );
});

test('what was freed serves the same requests again without another slab', () => {
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 300 }), (sizes) => {
      const { slab, slabs } = allocator();
      const first = sizes.map((size) => slab.take(size));
      const needed = slabs();
      for (const [i, size] of sizes.entries()) slab.free(first[i] ?? -1, size);
      const again = sizes.map((size) => slab.take(size));
      assert.equal(slabs(), needed);
      assert.equal(new Set(again).size, sizes.length);
    }),
    { numRuns: 40 },
  );
});

test('a size hands its ranges out in the order they came back', () => {
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 200 }), fc.nat(), (size, count, seed) => {
      const { slab } = allocator();
      const ranges = Array.from({ length: count }, () => slab.take(size));
      // All ranges of the piece are taken, so only ranges that are freed now can come back.
      const cut = (64 << 10) / sizeOf(size);
      for (let rest = count; rest % cut !== 0; rest++) slab.take(size);
      const order = ranges.map((range, i) => ({ range, key: (i * 7919 + seed) % 1009 }));
      order.sort((a, b) => a.key - b.key);
      for (const { range } of order) slab.free(range, size);
      assert.deepEqual(
        order.map(() => slab.take(size)),
        order.map(({ range }) => range),
      );
    }),
    { numRuns: 60 },
  );
});

test('requests of one tick and size lie next to each other', () => {
  const { slab } = allocator();
  assert.deepEqual(
    Array.from({ length: 4 }, () => slab.take(100)),
    [0, 2, 4, 6],
  );
});

test('sizes do not mix: a range serves only its own', () => {
  const { slab } = allocator();
  const large = slab.take(4096);
  slab.free(large, 4096);
  assert.notEqual(slab.take(64), large);
});

test('a slab is made when the first range is taken, and the next when one is used up', () => {
  const { slab, slabs } = allocator();
  assert.equal(slabs(), 0);
  for (let i = 0; i < slabBytes / slabMostBytes; i++) slab.take(slabMostBytes);
  assert.equal(slabs(), 1);
  slab.take(1);
  assert.equal(slabs(), 2);
});

test('at the limit there are no more ranges, until one comes back', () => {
  const { slab, slabs } = allocator(2 * slabBytes + 1);
  const ranges: number[] = [];
  for (let position = slab.take(4096); position >= 0; position = slab.take(4096)) ranges.push(position);
  assert.equal(ranges.length, (2 * slabBytes) / 4096);
  assert.equal(slabs(), 2);
  slab.free(ranges[5] ?? -1, 4096);
  assert.equal(slab.take(4096), ranges[5]);
  assert.equal(slab.take(4096), -1);
});

test('there is one slab, however low the limit is', () => {
  const { slab } = allocator(1);
  assert.equal(slab.take(64), 0);
});

test('a slab that cannot be made is an error, and the next try may succeed', () => {
  let fails = true;
  const slab = new SlabAllocator(() => {
    if (fails) throw new Error('no memory');
  }, slabBytes);
  assert.throws(() => slab.take(64), /no memory/);
  fails = false;
  assert.equal(slab.take(64), 0);
});

test('a range longer than the longest is refused', () => {
  assert.throws(() => allocator().slab.take(slabMostBytes + 1), RangeError);
});
