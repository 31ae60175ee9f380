/** Objects that were uploaded to S3 in parts: a wrong part is found by the checksum of the parts' checksums. */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { crc32 } from 'node:zlib';
import { StoreAccess } from '../../../src/registry/sources/store/store-access.js';
import { readStorePlace } from '../../../src/registry/sources/store/store-place.js';
import { sharedController } from '../../../src/signals.js';
import { rejection } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { answering } from './answering.js';

const { signal } = sharedController();

const sums = {
  crc32: (bytes: Uint8Array): Buffer => {
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(bytes));
    return sum;
  },
  sha1: (bytes: Uint8Array): Buffer => createHash('sha1').update(bytes).digest(),
  sha256: (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest(),
};

type Algorithm = keyof typeof sums;

/** What the store does with a request for content: `damage` is the place of a wrong byte, after `cutAt` bytes the connection ends. */
interface Reading {
  readonly damage?: number | undefined;
  readonly cutAt?: number | undefined;
}

interface Store {
  /** Of the n-th request for content, from 1 on. */
  readonly reading?: (count: number) => Reading;
  /** The status of a question for a part, if it is none of success. */
  readonly status?: (part: number, asked: number) => number | undefined;
}

/** What the store was asked for: parts by number, `0` for the object, and ranges. */
interface Asked {
  readonly parts: number[];
  readonly ranges: string[];
}

/** A store with one object. No real one can be made to answer so. */
async function storeOf(
  t: TestContext,
  sizes: readonly number[],
  algorithm: Algorithm,
  { reading = () => ({}), status = () => undefined }: Store = {},
): Promise<{ readonly content: Buffer; readonly asked: Asked; readonly download: () => Promise<Buffer> }> {
  const content = randomBytes(sizes.reduce((sum, one) => sum + one, 0));
  const sumOf = sums[algorithm];
  let at = 0;
  const ofParts = sizes.map((size) => sumOf(content.subarray(at, (at += size))));
  const checksum = `${sumOf(Buffer.concat(ofParts)).toString('base64')}-${sizes.length}`;
  const stamp = `"of-parts-${sizes.length}"`;
  const asked: Asked = { parts: [], ranges: [] };
  const port = await answering(t, ({ method, url = '', headers: { range = '' } }, response) => {
    const shown = { etag: stamp, [`x-amz-checksum-${algorithm}`]: checksum };
    if (method === 'HEAD') {
      const part = Number(new URL(url, 'http://store').searchParams.get('partNumber') ?? 0);
      asked.parts.push(part);
      const refused = status(part, asked.parts.length);
      if (refused !== undefined) response.writeHead(refused).end();
      else if (part === 0) response.writeHead(200, { ...shown, 'content-length': content.length }).end();
      else {
        const size = sizes[part - 1] ?? 0;
        response.writeHead(206, {
          etag: stamp,
          'content-length': size,
          'x-amz-mp-parts-count': sizes.length,
        });
        response.end();
      }
      return;
    }
    asked.ranges.push(range);
    const { damage, cutAt } = reading(asked.ranges.length);
    const from = Number(/\d+/.exec(range)?.[0] ?? 0);
    const sent = Buffer.from(content);
    if (damage !== undefined) sent[damage] = (sent[damage] ?? 0) ^ 1;
    const body = sent.subarray(from);
    response.writeHead(from === 0 ? 200 : 206, { ...shown, 'content-length': body.length });
    if (cutAt === undefined) response.end(body);
    else response.write(body.subarray(0, cutAt), () => setTimeout(() => response.destroy(), 50));
  });
  const access = new StoreAccess(readStorePlace(`s3://127.0.0.1:${port}/bucket`, 'here'));
  const object = { key: 'x', size: content.length, stamp };
  const folder = await temporaryFolder(t);
  let files = 0;
  const download = async (): Promise<Buffer> => {
    const path = join(folder, String(files++));
    const file = await open(path, 'wx');
    try {
      await access.download(object, file, 'm', signal, () => undefined);
    } finally {
      await file.close();
    }
    return await readFile(path);
  };
  return { content, asked, download };
}

for (const algorithm of ['crc32', 'sha1', 'sha256'] as const) {
  for (const [what, damage] of Object.entries({ first: 10, second: 1000, last: 2500 })) {
    test(`${algorithm}: a wrong byte in the ${what} part has the object fetched again`, async (t) => {
      const { content, asked, download } = await storeOf(t, [1000, 1000, 501], algorithm, {
        reading: (count) => (count === 1 ? { damage } : {}),
      });
      assert.ok(content.equals(await download()));
      assert.deepEqual(asked.ranges, ['', '']);
    });
  }
}

test('a part that stays wrong fails the download, by the checksum', async (t) => {
  const { asked, download } = await storeOf(t, [1000, 1000, 501], 'sha256', {
    reading: () => ({ damage: 1500 }),
  });
  const { code, message } = await rejection(download());
  assert.equal(code, 'UNAVAILABLE');
  assert.match(message, /failed 5 times.*the bytes that came do not have its checksum/);
  assert.equal(asked.ranges.length, 5);
  // The sizes of the parts are asked for once.
  assert.deepEqual([...new Set(asked.parts)].sort(), [0, 1, 2, 3]);
  assert.equal(asked.parts.filter((part) => part > 0).length, 3);
});

test('a wrong part before the place where a connection broke is found at the end', async (t) => {
  const { content, asked, download } = await storeOf(t, [1000, 1000, 501], 'crc32', {
    reading: (count) => (count === 1 ? { damage: 20, cutAt: 1200 } : {}),
  });
  assert.ok(content.equals(await download()));
  assert.deepEqual(asked.ranges, ['', 'bytes=1200-', '']);
});

test('parts of several sizes are compared by all sizes, and a wrong one of them is found', async (t) => {
  // The first and the last look as if the second were as large as the first.
  const { content, asked, download } = await storeOf(t, [1000, 900, 1100, 500], 'crc32', {
    reading: (count) => (count === 2 ? { damage: 1950 } : {}),
  });
  assert.ok(content.equals(await download()));
  assert.deepEqual(asked.ranges, ['', '', '']);
  assert.deepEqual(asked.parts, [0, 1, 4, 0, 2, 3, 0]);
});

test('of very many parts only the first and the last are asked for, and a wrong one is found', async (t) => {
  const sizes = [...Array<number>(149).fill(100), 7];
  const { content, asked, download } = await storeOf(t, sizes, 'sha256', {
    reading: (count) => (count === 1 ? { damage: 7777 } : {}),
  });
  assert.ok(content.equals(await download()));
  assert.equal(asked.ranges.length, 2);
  assert.deepEqual(asked.parts, [0, 1, 150, 0]);
});

test('a store that tells no sizes of parts is compared by the size of the whole', async (t) => {
  const { content, asked, download } = await storeOf(t, [1000, 501], 'sha256', {
    status: (part) => (part > 0 ? 400 : undefined),
  });
  assert.ok(content.equals(await download()));
  assert.deepEqual([asked.ranges.length, asked.parts], [1, [0, 1]]);
});

test('a question for a part that fails for a moment is asked again, and no other one', async (t) => {
  const { content, asked, download } = await storeOf(t, [1000, 501], 'sha256', {
    status: (_, count) => (count === 3 ? 503 : undefined),
    reading: (count) => (count === 1 ? { damage: 1 } : {}),
  });
  assert.ok(content.equals(await download()));
  assert.equal(asked.ranges.length, 2);
  assert.deepEqual(asked.parts, [0, 1, 2, 0, 2, 0]);
});

test('an object that is another one when its parts are asked for has changed', async (t) => {
  const { asked, download } = await storeOf(t, [1000, 501], 'sha256', {
    status: (part) => (part > 0 ? 412 : undefined),
  });
  assert.match((await rejection(download())).message, /it has another etag or size than before/);
  assert.equal(asked.ranges.length, 0);
});
