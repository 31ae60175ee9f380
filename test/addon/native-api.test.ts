/** What native programs are given: the header, and the table's address. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { nativeApi } from '../../src/index.js';

test('the header is in the package, and has the version of the table', async () => {
  const header = await readFile(nativeApi.header, 'utf8');
  assert.equal(nativeApi.include, dirname(nativeApi.header));
  const [, version] = /^#define TRITONTS_API_VERSION (\d+)$/m.exec(header) ?? [];
  assert.equal(nativeApi.version, Number(version));
});

test('all threads of the process have one table', async () => {
  assert.equal(typeof nativeApi.address, 'bigint');
  assert.notEqual(nativeApi.address, 0n);
  assert.equal(typeof nativeApi.external, 'object');
  const index = new URL('../../src/index.js', import.meta.url).href;
  const worker = new Worker(
    `import(${JSON.stringify(index)}).then(({ nativeApi }) => require('node:worker_threads').parentPort.postMessage(nativeApi.address))`,
    { eval: true },
  );
  const address = await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  assert.equal(address, nativeApi.address);
});
