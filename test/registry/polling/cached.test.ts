/** Answers in a cache outside of the process, when files change that versions share. */

import assert from 'node:assert/strict';
import { cp, mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InferenceServer } from '../../../src/index.js';
import { registerCache } from '../../../src/cache/registered-caches.js';
import { configText, floats, row, start, until } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { polled, settle } from './harness.js';
import { noLinks } from '../../support/links.js';

const code = `import { n } from '../shared/n.js';
  export default class { execute(requests) { return requests.map(({ inputs }) => ({ y: inputs.x.data.map((v) => v + n) })); } }`;

test('belong to these files, and are found again with them', { skip: noLinks }, async (t) => {
  const stored = new Map<string, Uint8Array>();
  registerCache('polled', {
    lookup: (keys) => keys.map((key) => stored.get(key)),
    insert: (entries) => {
      for (const { key, value } of entries) stored.set(key, value);
    },
  });
  const ask = async (server: InferenceServer): Promise<readonly [number | undefined, boolean]> => {
    const result = await server.infer('js', { x: row(0) });
    const hit = result.timings.cacheHit;
    return [floats(result)[0], hit];
  };
  const config = configText({ backend: 'javascript', more: 'response_cache { enable: true }' });
  const cacheConfig = { polled: {} };
  const { server, folder } = await polled(
    t,
    { js: { config, versions: { '1': { 'model.js': code, 'package.json': '{"type":"module"}' } } } },
    { cacheConfig, exitOnError: false },
  );
  const shared = join(folder, 'js', 'shared');
  await mkdir(shared);
  await writeFile(join(shared, 'package.json'), '{"type":"module"}');
  const write = (n: number): Promise<void> => writeFile(join(shared, 'n.js'), `export const n = ${n};`);
  await write(1);
  // All that it leads to is read once.
  await symlink('..', join(shared, 'around'));
  await settle(server);
  assert.deepEqual(await ask(server), [1, false]);
  await until(() => stored.size === 1);
  assert.deepEqual(await ask(server), [1, true]);
  await write(2);
  assert.equal(await settle(server), '~js:1-1');
  assert.deepEqual(await ask(server), [2, false]);
  await until(() => stored.size === 2);
  await write(1);
  await utimes(join(shared, 'n.js'), 1, 1);
  assert.equal(await settle(server), '~js:1-1');
  assert.deepEqual(await ask(server), [1, true]);
  const copy = await temporaryFolder(t);
  await cp(folder, copy, { recursive: true, verbatimSymlinks: true });
  assert.deepEqual(await ask(await start(t, copy, { cacheConfig })), [1, true]);
});
