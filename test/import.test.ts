import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { modelRepository } from '../examples/digits/data.js';

const run = promisify(execFile);

/** Whether a fresh process has loaded the addon and protobufjs (which only tests use) after a statement. */
async function loadedIn(statement: string): Promise<{ protobufjs: boolean; addon: boolean }> {
  const script = `
import { createRequire } from 'node:module';
const { createServer } = await import(${JSON.stringify(new URL('../src/index.js', import.meta.url).href)});
${statement}
const loaded = Object.keys(createRequire(import.meta.url).cache);
const addon = process.report.getReport().sharedObjects.some((file) => file.endsWith('tritonts.node'));
console.log(JSON.stringify({ protobufjs: loaded.some((file) => file.includes('protobufjs')), addon }));
process.exit();`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  // The program above printed it.
  return JSON.parse(stdout) as { protobufjs: boolean; addon: boolean };
}

test('the import does not load the addon', async () => {
  assert.deepEqual(await loadedIn(''), { protobufjs: false, addon: false });
});

test('the start of a server loads the addon, and no package to read configurations', async () => {
  const start = `await createServer(${JSON.stringify(modelRepository.href)});`;
  assert.deepEqual(await loadedIn(start), { protobufjs: false, addon: true });
});
