import assert from 'node:assert/strict';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { addon } from '../../src/addon/load.js';
import { TritonError } from '../../src/errors.js';
import { thrown } from '../server/harness.js';
import { temporaryFolder } from '../support/repository.js';

// Loaded now, as asked; the copies below search as they do where nobody names a file.
addon();
delete process.env['TRITONTS_ADDON'];

/** A copy of the package's code in a folder, in which there is no addon. */
async function copyOf(folder: string): Promise<{ addon: typeof addon }> {
  const source = fileURLToPath(new URL('../../src', import.meta.url));
  await cp(join(source, 'addon'), join(folder, 'dist/src/addon'), { recursive: true });
  await cp(join(source, 'errors.js'), join(folder, 'dist/src/errors.js'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const url = pathToFileURL(join(folder, 'dist/src/addon/load.js')).href;
  return (await import(url)) as { addon: typeof addon };
}

test('the addon is loaded once', () => {
  assert.equal(addon(), addon());
});

test('it tells the cores and the memory this process may use', () => {
  assert.ok(Number.isInteger(addon().cores()) && addon().cores() >= 1);
  assert.ok(addon().memory() > 64 * 2 ** 20);
});

test('a missing addon is UNAVAILABLE, with what was tried, on what, and what helps', async (t) => {
  const copy = await copyOf(await temporaryFolder(t));
  const error = thrown(() => copy.addon());
  assert.equal(error.code, 'UNAVAILABLE');
  const platform = `${process.platform}-${process.arch}, Node ${process.versions.node}`;
  assert.ok(error.message.includes(`could not be loaded on ${platform}. Tried:`), error.message);
  assert.match(error.message, /^ {2}build\/Release\/tritonts\.node: Cannot find module/m);
  if (platform.startsWith('linux-x64'))
    assert.match(error.message, /^ {2}prebuilds\/linux-x64\/tritonts\.node: Cannot find/m);
  assert.match(error.message, /1\. .*npx cmake-js compile/);
  assert.match(error.message, /2\. .*asar/);
});

test('the error of each try is kept', async (t) => {
  const copy = await copyOf(await temporaryFolder(t));
  const { cause } = thrown(() => copy.addon());
  assert.ok(cause instanceof AggregateError);
  for (const error of cause.errors) assert.equal((error as NodeJS.ErrnoException).code, 'MODULE_NOT_FOUND');
});

test('a file that is no addon is told of with the reason of the system', async (t) => {
  const folder = await temporaryFolder(t);
  const copy = await copyOf(folder);
  await mkdir(join(folder, 'build/Release'), { recursive: true });
  await writeFile(join(folder, 'build/Release/tritonts.node'), 'not a library');
  const error = thrown(() => copy.addon());
  const line = error.message.split('\n').find((text) => text.includes('build/Release'));
  assert.ok(line !== undefined && !line.includes('Cannot find module'), error.message);
  assert.ok(error instanceof TritonError);
});
