/** What is asked of a Python before it runs models: which it is, and whether it has torch. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../src/addon/own-process.js';
import { lookAtPython, lookForTorch } from '../../src/python/interpreter.js';
import { temporaryFolder, type Context } from '../support/repository.js';
import { python } from './harness.js';

const onPython = { skip: process.platform === 'win32' && 'its programs are of a shell' };

/** A program of a shell. */
async function program(t: Context, text: string): Promise<string> {
  const path = join(await temporaryFolder(t), 'python3');
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

/** A folder with packages that are found and not imported. */
async function packages(t: Context): Promise<string> {
  const folder = await temporaryFolder(t);
  for (const name of ['torch', 'numpy']) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, '__init__.py'), 'raise SystemExit("imported")\n');
  }
  await writeFile(join(folder, 'torch', 'version.py'), "__version__ = '9.8.7'\n");
  return folder;
}

test('a Python that prints at its start tells of its torch', onPython, async (t) => {
  const folder = await packages(t);
  const path = await program(t, `printf 'welcome'\nPYTHONPATH='${folder}' exec '${python}' "$@"`);
  const found = await lookForTorch(path);
  assert.ok(typeof found !== 'string', typeof found === 'string' ? found : '');
  assert.deepEqual([found.version, found.folder.endsWith('torch')], ['9.8.7', true]);
});

test('a program that is no Python has no torch, and the text says so', onPython, async (t) => {
  const path = await program(t, 'echo "$@"');
  assert.equal(
    await lookForTorch(path),
    `'${path}' is no Python: it ends without an answer. Name one in backendConfig.python.executable`,
  );
});

test('questions run no code of the working directory', onPython, async (t) => {
  const folder = await temporaryFolder(t);
  const ran = join(folder, 'ran');
  for (const name of ['json', 'importlib', 'numpy', 'torch'])
    await writeFile(join(folder, `${name}.py`), `open(${JSON.stringify(ran)}, 'w').close()\n`);
  // Its working directory alone is another one.
  const path = await program(t, `cd '${folder}' && exec '${python}' "$@"`);
  await lookForTorch(path);
  await lookAtPython(path);
  assert.equal(existsSync(ran), false);
});

test('a program that ignores SIGTERM is ended after its time', onPython, async (t) => {
  const path = await program(t, 'trap "" TERM\nfor i in $(seq 60); do sleep 1; done');
  await assert.rejects(run(path, [], { timeout: 100 }), { killed: true, signal: 'SIGKILL' });
});
