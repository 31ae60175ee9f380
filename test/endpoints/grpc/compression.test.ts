import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Inflater } from '../../../src/endpoints/grpc/compression.js';
import { Budget } from '../../../src/protocol/grpc/budget.js';

test('a message that waited for others is limited by what their plain bytes left', async () => {
  const max = 1 << 20;
  const budget = new Budget(max);
  const inflater = new Inflater(max, budget);
  const inflate = (bytes: Buffer): Promise<Error | number> => {
    budget.take(bytes.length);
    return new Promise((resolve) => {
      inflater.inflate(bytes, (error, plain) => {
        resolve(error ?? plain.length);
      });
    });
  };
  // Four run at once. Each may have a quarter of the budget, and leaves less than that for the fifth.
  const size = 200 << 10;
  const four = Array.from({ length: 4 }, () => inflate(gzipSync(Buffer.alloc(size))));
  const fifth = inflate(gzipSync(Buffer.alloc(240 << 10)));
  assert.deepEqual(await Promise.all(four), [size, size, size, size]);
  const refused = await fifth;
  assert.ok(refused instanceof Error, `${refused} bytes`);
  assert.match(refused.message, /the room that calls in progress leave \(maxHeldBytes\)/);
  assert.equal(budget.left, max - 4 * size);
});
