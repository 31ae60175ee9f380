/** The programs of docs/endpoints.md. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createServer } from '../../src/index.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
const page = await readFile(join(root, 'docs', 'endpoints.md'), 'utf8');
const programs = new Map(
  [...page.matchAll(/<!-- test: ([\w-]+) -->\s*```\w+\n([^]*?)```/g)].map(([, name = '', code = '']) => [
    name,
    code,
  ]),
);

/** The folder with the models of the page's programs. */
const folder = await temporaryFolder({ after });
await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
await mkdir(join(folder, 'node_modules'));
for (const [name, target] of [
  ['tritonts', root],
  ['onnxruntime-node', dirname(fileURLToPath(import.meta.resolve('onnxruntime-node/package.json')))],
] as const) {
  await symlink(target, join(folder, 'node_modules', name), 'dir');
}

test('the page has programs', () => {
  assert.deepEqual([...programs.keys()], ['serve', 'curl', 'python', 'python-grpc', 'client', 'grpc']);
});

for (const name of ['serve', 'client', 'grpc'])
  test(`the program '${name}' prints what it says`, async () => {
    const code = programs.get(name) ?? '';
    const file = join(folder, `${name}.mjs`);
    await writeFile(file, code);
    const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, timeout: 120_000 });
    assert.equal(stderr, '');
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    assert.deepEqual(stdout.trim().split('\n'), promised);
  });

test('the lines with curl are answered', async (t) => {
  const found = await run('curl', ['--version']).then(
    () => true,
    () => false,
  );
  if (!found) {
    t.skip('there is no curl');
    return;
  }
  const server = await createServer(join(folder, 'models'));
  t.after(() => server.close({ timeoutMs: 0 }));
  const endpoint = await serveHttp(server, { port: 0 });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  const lines = (programs.get('curl') ?? '').trim().split('\n');
  const printed: string[] = [];
  for (const line of lines) {
    const here = line.replaceAll('localhost:8000', `127.0.0.1:${endpoint.address.port}`);
    const { stdout } = await run('sh', ['-c', here], { cwd: folder, timeout: 120_000 });
    printed.push(stdout.trim());
  }
  const [ready, metadata = '', refused, raw, generated = '', statistics = ''] = printed;
  assert.deepEqual([ready, refused, raw], ['', 'refused', '']);
  assert.match(metadata, /"name":"digits"/);
  assert.match(generated, /"scores":\[/);
  assert.match(statistics, /"inference_count":2/);
  const scores = await readFile(join(folder, 'scores.bin'));
  assert.equal(scores.subarray(-40).length, 40);
});
