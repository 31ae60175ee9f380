/** Where the library of TensorFlow is found, in folders that are made up. The search itself is that of OpenVINO. */

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tensorFlowLibrary } from '../../../src/backends/tensorflow/library.js';
import { thrown, type Context } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';

const onLinux = { skip: process.platform === 'linux' ? false : 'needs Linux' };

/** Writes empty files into a new folder. */
async function folderWith(t: Context, ...files: readonly string[]): Promise<string> {
  const folder = await temporaryFolder(t);
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), '');
  }
  return folder;
}

/** The library in an environment with nothing besides `env`. */
const found = (env: NodeJS.ProcessEnv, options: Parameters<typeof tensorFlowLibrary>[0] = {}): string =>
  tensorFlowLibrary(options, { HOME: '/nowhere', ...env });

/** Whether this machine itself has TensorFlow in a folder of the system. */
function isInstalled(): boolean {
  try {
    found({});
    return true;
  } catch {
    return false;
  }
}

const alone = {
  skip:
    onLinux.skip !== false
      ? onLinux.skip
      : isInstalled() && 'TensorFlow is installed in a folder of the system',
};

const framework = 'libtensorflow_framework.so.2';
const wheel = 'lib/python3.12/site-packages/tensorflow/libtensorflow_cc.so.2';

test('the option or the environment names the file, or its folder', onLinux, async (t) => {
  const folder = await folderWith(t, 'libtensorflow_cc.so.2', framework, 'libtensorflow_cc.so.1');
  const name = join(folder, 'libtensorflow_cc.so.2');
  assert.equal(found({}, { library: folder }), name);
  assert.equal(found({}, { library: join(folder, 'mine.so') }), join(folder, 'mine.so'));
  assert.equal(found({ TRITONTS_TENSORFLOW_PATH: folder }), name);
  assert.equal(found({ TRITONTS_TENSORFLOW_PATH: name }), name);
});

test('a named folder without the library is an error with its name', onLinux, async (t) => {
  const folder = await folderWith(t, framework, 'libtensorflow.so.1');
  for (const [env, options, by] of [
    [{}, { library: folder }, 'backendConfig.tensorflow.library'],
    [{ TRITONTS_TENSORFLOW_PATH: folder }, {}, 'TRITONTS_TENSORFLOW_PATH'],
  ] as const) {
    const error = thrown(() => found(env, options));
    assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
    assert.ok(error.message.includes(by) && error.message.includes(folder), error.message);
  }
});

test('the C package and the wheel are found, the newest version first', alone, async (t) => {
  const newest = 'libtensorflow.so.2.21.0';
  const folder = await folderWith(t, 'libtensorflow.so.2.4.1', newest, framework);
  const venv = await folderWith(t, wheel, framework);
  assert.equal(found({ LD_LIBRARY_PATH: folder, VIRTUAL_ENV: venv }), join(folder, newest));
  assert.equal(found({ VIRTUAL_ENV: venv }), join(venv, wheel));
});

test('if it is nowhere, the error says where it was looked for and what to install', alone, async (t) => {
  const venv = await folderWith(t, 'lib/python3.12/site-packages/numpy/x.py');
  const error = thrown(() => found({ VIRTUAL_ENV: venv, LD_LIBRARY_PATH: '/some/libs' }));
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
  for (const text of [
    'there is no TensorFlow: libtensorflow.so.2 or libtensorflow_cc.so.2 is in none of',
    '/some/libs',
    '/etc/ld.so.cache',
    join(venv, 'lib/python3.12/site-packages/tensorflow'),
    'pip install tensorflow-cpu',
    'backendConfig.tensorflow.library',
    'TRITONTS_TENSORFLOW_PATH',
  ])
    assert.ok(error.message.includes(text), text);
});
