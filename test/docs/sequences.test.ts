import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serveGrpc } from '../../src/endpoints/grpc/serve.js';
import { expandConfig } from '../../src/config/schema/expand.js';
import { readModelConfig } from '../../src/config/text/read.js';
import { createServer } from '../../src/index.js';
import { modelFor } from '../corpus/model-for.js';
import { floats, serve } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = await readFile(join(root, 'docs', 'sequences.md'), 'utf8');

/** Runs a program, and returns what it prints. */
async function printedBy(t: Parameters<typeof temporaryFolder>[0], code: string): Promise<string> {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  const file = join(folder, 'program.mjs');
  // Node 20 has no `await using`.
  await writeFile(file, code.replaceAll('await using', 'const'));
  const options = { cwd: folder, timeout: 60_000 };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], options);
  assert.equal(stderr, '');
  return stdout;
}

test('the program of the page prints what it says', async (t) => {
  const [, code = ''] = /<!-- test: program -->\s*```js\n([^]*?)```/.exec(page) ?? [];
  const promised = [...code.matchAll(/console\.log\(.*\); \/\/ prints (.*)$/gm)].map(([, text = '']) => text);
  assert.equal(await printedBy(t, code), `${promised.join(', ').replaceAll(', ', '\n')}\n`);
});

test('the lines for a client run', async (t) => {
  const [, code = ''] = /```js\n(await using server = await connectServer[^]*?)```/.exec(page) ?? [];
  const server = await createServer({
    models: {
      sum: {
        config: {
          max_batch_size: 1,
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
          output: [{ name: 'y', data_type: 'TYPE_STRING', dims: [1] }],
        },
        execute: (requests) =>
          requests.map(({ sequence }) => ({ y: [JSON.stringify([sequence?.start, sequence?.end])] })),
      },
    },
  });
  const endpoint = await serveGrpc(server, { port: 0 });
  t.after(async () => {
    await endpoint.close({ timeoutMs: 0 });
    await server.close({ timeoutMs: 0 });
  });
  const program = [
    `import { connectServer } from 'tritonts/client';`,
    code.replace('8001', `${endpoint.address.port}`),
    'await server.close();',
    'console.log(...outputs.y.strings());',
  ];
  assert.equal(await printedBy(t, program.join('\n')), '[false,true]\n');
});

for (const name of ['direct', 'oldest', 'state']) {
  test(`the configuration of ${name} serves a sequence`, async (t) => {
    const [, part] = new RegExp(`<!-- test: ${name} -->\\s*\`\`\`text\\n([^]*?)\`\`\``).exec(page) ?? [];
    assert.ok(part !== undefined);
    const config = [
      'backend: "onnxruntime"',
      'input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }',
      'output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }',
      part,
    ].join('\n');
    const model = modelFor(expandConfig(readModelConfig({ file: name, text: config }).value));
    const files = { 'initial_state/hidden.bin': new Uint8Array(4 * 2 * 128) };
    const server = await serve(t, { m: { config, files, versions: { '1': model } } });
    assert.deepEqual(server.model('m').notes, []);
    const sequence = server.model('m').sequence();
    const shape = name === 'state' ? [4] : [1, 4];
    const x = { data: [1, 2, 3, 4], shape };
    await sequence.infer({ x });
    assert.deepEqual(floats(await sequence.end({ x })), [1, 2, 3, 4]);
  });
}
