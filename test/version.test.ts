import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { packageVersion } from '../src/version.js';

test('the version is that of package.json', async () => {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  assert.equal(packageVersion, (JSON.parse(text) as { version: string }).version);
});
