/** Where the library of OpenVINO is found, in folders that are made up. */

import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openVinoLibrary } from '../../../src/backends/openvino/library.js';
import { byVersion } from '../../../src/backends/runtime-library.js';
import { temporaryFolder } from '../../support/repository.js';
import { thrown, type Context } from '../../support/harness.js';

const onLinux = { skip: process.platform === 'linux' ? false : 'needs Linux' };
const name = 'libopenvino_c.so.2641';

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
const found = (env: NodeJS.ProcessEnv, options: Parameters<typeof openVinoLibrary>[0] = {}): string =>
  openVinoLibrary(options, { HOME: '/nowhere', ...env });

/** Whether this machine itself has OpenVINO in a folder of the system. */
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
      : isInstalled() && 'OpenVINO is installed in a folder of the system',
};

test('the option names the file, or its folder', onLinux, async (t) => {
  const folder = await folderWith(
    t,
    name,
    'libopenvino.so.2641',
    'libopenvino_c.so.2541',
    'libopenvino_c.txt',
  );
  const other = await folderWith(t, name);
  for (const env of [{}, { TRITONTS_OPENVINO_PATH: other }]) {
    assert.equal(found(env, { library: folder }), join(folder, name));
    assert.equal(found(env, { library: join(folder, 'mine.so') }), join(folder, 'mine.so'));
  }
  assert.equal(found({ TRITONTS_OPENVINO_PATH: other }), join(other, name));
  assert.equal(found({ TRITONTS_OPENVINO_PATH: join(other, name) }), join(other, name));
});

test('a named folder without the library is an error with its name', onLinux, async (t) => {
  const folder = await folderWith(t, 'libopenvino.so.2641');
  for (const [env, options, by] of [
    [{}, { library: folder }, 'backendConfig.openvino.library'],
    [{ TRITONTS_OPENVINO_PATH: folder }, {}, 'TRITONTS_OPENVINO_PATH'],
  ] as const) {
    const error = thrown(() => found(env, options));
    assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
    assert.ok(error.message.includes(by) && error.message.includes(folder), error.message);
  }
});

test('of several versions in a folder the newest is used', onLinux, async (t) => {
  const names = [
    'libopenvino_c.so',
    'libopenvino_c.so.2541',
    'libopenvino_c.so.2026.4.1',
    'libopenvino_c.so.2630',
  ];
  const folder = await folderWith(t, ...names);
  assert.equal(found({ LD_LIBRARY_PATH: folder }), join(folder, 'libopenvino_c.so.2026.4.1'));
  assert.deepEqual([...names].sort(byVersion), [names[2], names[3], names[1], names[0]]);
});

test('the wheel of a Python environment is found, that of the newest Python first', alone, async (t) => {
  const wheel = (python: string): string => `lib/${python}/site-packages/openvino/libs/${name}`;
  const venv = await folderWith(t, wheel('python3.9'), wheel('python3.12'), wheel('python2.7'));
  const conda = await folderWith(t, wheel('python3.11'));
  assert.equal(found({ VIRTUAL_ENV: venv, CONDA_PREFIX: conda }), join(venv, wheel('python3.12')));
  assert.equal(found({ CONDA_PREFIX: conda }), join(conda, wheel('python3.11')));
  const home = await folderWith(t, `.local/${wheel('python3.13')}`);
  assert.equal(found({ HOME: home }), join(home, '.local', wheel('python3.13')));
});

test('the wheel of the first python3 in PATH is found, also behind a link', alone, async (t) => {
  const wheel = `lib/python3.13/site-packages/openvino/libs/${name}`;
  const prefix = await folderWith(t, 'bin/python3.13', wheel);
  await symlink('python3.13', join(prefix, 'bin', 'python3'));
  const empty = await folderWith(t);
  assert.equal(found({ PATH: `${empty}:${join(prefix, 'bin')}` }), join(prefix, wheel));
  const links = await folderWith(t);
  await symlink(join(prefix, 'bin', 'python3'), join(links, 'python3'));
  assert.equal(found({ PATH: links }), join(prefix, wheel));
});

test('if it is nowhere, the error says where it was looked for and what to install', alone, async (t) => {
  const venv = await folderWith(t, 'lib/python3.12/site-packages/numpy/x.py');
  const error = thrown(() => found({ VIRTUAL_ENV: venv, LD_LIBRARY_PATH: '/some/libs' }));
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
  for (const text of [
    'libopenvino_c.so*',
    '/some/libs',
    '/etc/ld.so.cache',
    '/opt/intel/openvino/runtime/lib/intel64',
    join(venv, 'lib/python3.12/site-packages/openvino/libs'),
    'pip install openvino',
    'backendConfig.openvino.library',
    'TRITONTS_OPENVINO_PATH',
  ])
    assert.ok(error.message.includes(text), text);
});
