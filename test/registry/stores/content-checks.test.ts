/** Checksums of content, and of the parts in which it was uploaded. */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { contentCheck, partsCheck } from '../../../src/registry/sources/store/content-checks.js';
import type { ContentCheck } from '../../../src/registry/sources/store/object-store.js';

/** Whether a check matches content that comes in pieces of `step` bytes. */
function matches(check: ContentCheck, content: Uint8Array, step: number): boolean {
  for (let at = 0; at < content.length; at += step) check.update(content.subarray(at, at + step));
  return check.matches();
}

function crc32Of(bytes: Uint8Array): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}

test('each algorithm has its published value', () => {
  const digits = Buffer.from('123456789');
  for (const [algorithm, hex] of [
    ['md5', '25f9e794323b453885f5181f1b624d0b'],
    ['sha1', 'f7c3bc1d808e04732adf679965ccc34ca7ae3441'],
    ['sha256', '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225'],
    ['crc32', 'cbf43926'],
    ['crc32c', 'e3069283'],
  ] as const) {
    const wanted = Buffer.from(hex, 'hex').toString('base64');
    for (const step of [1, 4, 9])
      assert.ok(matches(contentCheck(algorithm, wanted), digits, step), algorithm);
    assert.ok(!matches(contentCheck(algorithm, wanted), Buffer.from('123456780'), 9), algorithm);
  }
});

test('content in parts has the checksum of their checksums, wherever pieces end', () => {
  const content = randomBytes(1000);
  for (const sizes of [[1000], [400, 400, 200], [1, 0, 998, 1], [500, 500]]) {
    const parts = sizes.map((size, i) => {
      const at = sizes.slice(0, i).reduce((sum, one) => sum + one, 0);
      return content.subarray(at, at + size);
    });
    for (const [algorithm, sumOf] of [
      ['crc32', crc32Of],
      ['sha256', (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()],
    ] as const) {
      const wanted = sumOf(Buffer.concat(parts.map(sumOf))).toString('base64');
      for (const step of [1, 7, 400, 1000])
        assert.ok(matches(partsCheck(algorithm, wanted, sizes), content, step), `${sizes.join()} ${step}`);
      const damaged = Buffer.from(content);
      damaged[999] = (damaged[999] ?? 0) ^ 1;
      assert.ok(!matches(partsCheck(algorithm, wanted, sizes), damaged, 1000));
      assert.ok(!matches(partsCheck(algorithm, wanted, sizes), content.subarray(1), 1000));
      assert.ok(!matches(partsCheck(algorithm, wanted, sizes), Buffer.concat([content, content]), 300));
    }
  }
});
