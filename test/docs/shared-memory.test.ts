/** The programs of docs/shared-memory.md. Its program in Python runs in `npm test -- clients`. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { createServer } from '../../src/index.js';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const skip = process.platform === 'linux' ? false : 'shared memory is for Linux';

test('the program of the page prints what it says', { skip }, async (t) => {
  const page = await readFile(join(root, 'docs', 'shared-memory.md'), 'utf8');
  const [, code = ''] = /<!-- test: program -->\s*```js\n([^]*?)```/.exec(page) ?? [];
  const [, promised = ''] = /console\.log\(.*\); \/\/ prints (.*)$/m.exec(code) ?? [];
  const folder = await temporaryFolder(t);
  await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
  await mkdir(join(folder, 'node_modules'));
  for (const [name, target] of [
    ['tritonts', root],
    ['onnxruntime-node', dirname(fileURLToPath(import.meta.resolve('onnxruntime-node/package.json')))],
  ] as const) {
    await symlink(target, join(folder, 'node_modules', name), 'dir');
  }
  const file = join(folder, 'program.mjs');
  // Another run of this test may have a region of that name.
  const own = `frames-${process.pid}`;
  await writeFile(file, code.replace("'frames'", `'${own}'`));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], {
    cwd: folder,
    timeout: 60_000,
  });
  assert.equal(stderr, '');
  assert.equal(stdout, `${promised.replace('frames', own)}\n`);
});

test("the client's program of the page prints what it says", { skip }, async (t) => {
  const page = await readFile(join(root, 'docs', 'shared-memory.md'), 'utf8');
  const [, code = ''] = /<!-- test: client -->\s*```js\n([^]*?)```/.exec(page) ?? [];
  const [, promised = ''] = /console\.log\(.*\); \/\/ prints (.*)$/m.exec(code) ?? [];
  const own = await createServer(join(root, 'examples', 'digits', 'models'));
  t.after(() => own.close());
  const endpoint = await serveHttp(own, { port: 0, clientSharedMemory: true });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'tritonts'), 'dir');
  const file = join(folder, 'program.mjs');
  // Another run of this test may have memory of that name.
  const name = `pictures-${process.pid}`;
  const moved = code
    .replaceAll('/pictures', `/${name}`)
    .replace('localhost:8000', `127.0.0.1:${endpoint.address.port}`);
  await writeFile(file, `${moved}\nconsole.log(found.some((score) => score !== 0));\n`);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], {
    cwd: folder,
    timeout: 60_000,
  });
  assert.equal(stderr, '');
  assert.equal(stdout, `${promised}\ntrue\n`);
  assert.deepEqual(own.sharedMemory.regions(), []);
  assert.ok(!existsSync(`/dev/shm/${name}`));
});
