import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Deflater, Inflater } from '../../../src/endpoints/grpc/compression.js';
import type { Stream } from '../../../src/endpoints/grpc/http2/stream.js';
import { Outgoing } from '../../../src/endpoints/grpc/outgoing.js';
import { Budget } from '../../../src/protocol/grpc/budget.js';
import { until } from '../../support/harness.js';
import { framed } from './raw.js';

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

test('answers count as held while they wait for compression, and few are compressed at once', async () => {
  const max = 1 << 30;
  const budget = new Budget(max);
  const deflater = new Deflater('low');
  const sizes: number[] = [];
  const written = {
    begin: () => undefined,
    write: ({ length }: Buffer) => sizes.push(length),
    closed: false,
  };
  const answer = framed(Buffer.alloc(1 << 20));
  const concat = Buffer.concat.bind(Buffer);
  let copies = 0;
  Buffer.concat = (list, length): Buffer<ArrayBuffer> => {
    const copy = concat(list, length);
    if (copy.length >= 1 << 20) copies++;
    return copy;
  };
  try {
    for (let i = 0; i < 20; i++)
      new Outgoing(written as unknown as Stream, deflater, budget).send(
        { pieces: [answer], size: answer.length },
        'gzip',
      );
  } finally {
    Buffer.concat = concat;
  }
  assert.equal(max - budget.left, 20 * answer.length);
  assert.ok(copies <= 4, `${copies} copies`);
  // Each has a prefix and a body.
  await until(() => sizes.length === 40);
  assert.equal(budget.left, max);
});
