import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { modelRepository } from '../examples/digits/data.js';
import { temporaryFolder, writeRepository } from './support/repository.js';

const run = promisify(execFile);

/** Which of these a fresh process has loaded after the import of the package, and after the start of a server. */
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
  // Printed just above.
  return JSON.parse(stdout) as { protobufjs: boolean; addon: boolean };
}

test('the import loads neither the parser of configurations nor the addon', async () => {
  assert.deepEqual(await loadedIn(''), { protobufjs: false, addon: false });
});

test('the start of a server loads the addon', async () => {
  const start = `await createServer(${JSON.stringify(modelRepository.href)});`;
  assert.deepEqual(await loadedIn(start), { protobufjs: false, addon: true });
});

test('the start of a server loads the parser for a configuration that is not plain', async (t) => {
  const config = String.raw`backend: "identity" input { name: "\x78" data_type: TYPE_FP32 dims: 1 }
output { name: "y" data_type: TYPE_FP32 dims: 1 }`;
  const repository = await writeRepository(await temporaryFolder(t), {
    m: { config, versions: { '1': {} } },
  });
  const start = `await createServer(${JSON.stringify(repository)});`;
  assert.deepEqual(await loadedIn(start), { protobufjs: true, addon: true });
});
