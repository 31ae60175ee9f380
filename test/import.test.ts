import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { modelRepository } from '../examples/digits/data.js';

const run = promisify(execFile);

/**
 * Whether a fresh process has loaded the addon and protobufjs (which gRPC's management calls use) after a
 * statement.
 */
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
  // The program above has printed this JSON.
  return JSON.parse(stdout) as { protobufjs: boolean; addon: boolean };
}

test('the import does not load the addon', async () => {
  assert.deepEqual(await loadedIn(''), { protobufjs: false, addon: false });
});

test('the start of a server loads the addon, and no package to read configurations', async () => {
  const start = `await createServer(${JSON.stringify(modelRepository.href)});`;
  assert.deepEqual(await loadedIn(start), { protobufjs: false, addon: true });
});

test('serving and asking over HTTP loads no protobufjs; gRPC loads it with the first management call', async () => {
  const module = (path: string): string => JSON.stringify(new URL(`../src/${path}`, import.meta.url).href);
  const over = (protocol: 'http' | 'grpc', name: string): string => `
const { ${name}: serve } = await import(${module(`endpoints/${protocol}/serve.js`)});
const { connectServer } = await import(${module('client/index.js')});
const server = await createServer(${JSON.stringify(modelRepository.href)});
const { address } = await serve(server, { port: 0 });`;
  const connect = (protocol: string): string =>
    `await connectServer(\`${protocol}://127.0.0.1:\${address.port}\`);`;
  const http = over('http', 'serveHttp') + connect('http');
  assert.deepEqual(await loadedIn(http), { protobufjs: false, addon: true });
  const grpc = over('grpc', 'serveGrpc');
  assert.deepEqual(await loadedIn(grpc), { protobufjs: false, addon: true });
  assert.deepEqual(await loadedIn(grpc + connect('grpc')), { protobufjs: true, addon: true });
});
