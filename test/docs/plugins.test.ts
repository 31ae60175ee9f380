import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { nativeApi } from '../../src/index.js';
import { root } from '../support/project.js';
import { refusedFunctions } from '../support/refused-functions.js';
import { runPageProgram } from './page-program.js';

const compiler = process.env['CXX'] ?? 'c++';
const skip =
  process.platform !== 'linux'
    ? 'plug-ins of Triton run on Linux alone'
    : spawnSync(compiler, ['--version']).status === 0
      ? false
      : `there is no C++ compiler (${compiler})`;
if (skip !== false) console.error(`skipped: ${skip}`);

test('the backend of the page is built, and runs the model of the page', { skip }, async (t) => {
  const { stdout } = await runPageProgram(t, 'plugins', async (page, folder) => {
    const code = /<!-- test: backend\.cc -->\s*```cpp\n([^]*?)```/.exec(page)?.[1] ?? '';
    const config =
      /<!-- file: models\/double\/config\.pbtxt -->\s*```proto\n([^]*?)```/.exec(page)?.[1] ?? '';
    await mkdir(join(folder, 'models', 'double', '1'), { recursive: true });
    await writeFile(join(folder, 'models', 'double', 'config.pbtxt'), config);
    const place = join(folder, 'backends', 'twice');
    await mkdir(place, { recursive: true });
    await writeFile(join(place, 'backend.cc'), code);
    const { status, stderr } = spawnSync(
      compiler,
      [
        ...[
          '-std=c++17',
          '-Wall',
          '-fPIC',
          '-shared',
          '-I',
          nativeApi.tritonInclude,
          join(place, 'backend.cc'),
        ],
        ...[nativeApi.library, '-o', join(place, 'libtriton_twice.so')],
      ],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
  });
  assert.equal(stdout, '[ [ 2, 4, 6 ] ]\n');
});

test('the page names every function that is refused, and no other one', async () => {
  const folder = join(root, 'native', 'plugins');
  const refused: string[] = [];
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.cc'))) {
    const text = await readFile(join(folder, file), 'utf8');
    // The only thing that such a function does is to refuse.
    for (const [, name = ''] of text.matchAll(
      /^TRITONSERVER_Error\* (TRITON\w+)\([^{}]*\) noexcept \{\n {2}return NotSupported\(/gm,
    ))
      refused.push(name);
  }
  assert.ok(refused.length > 0);
  assert.deepEqual((await refusedFunctions()).sort(), refused.sort());
});
