import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Survey } from '../../src/registry/files/survey.js';
import { temporaryFolder } from '../support/repository.js';
import { python, skip } from './harness.js';

const main = fileURLToPath(new URL('../../command/main.js', import.meta.url));

/** The output of `tritonts backends` with this PATH. */
function shown(path: string, ...args: string[]): string {
  const env = { ...process.env, PATH: path };
  return execFileSync(process.execPath, [main, 'backends', ...args], { encoding: 'utf8', env });
}

test('tritonts backends tells the Python of the PATH, and what helps without one', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  /** A folder with a python3 of this text. */
  const withPython = async (name: string, text: string): Promise<string> => {
    await mkdir(join(folder, name));
    const file = join(folder, name, 'python3');
    await writeFile(file, `#!/bin/sh\n${text}\n`);
    await chmod(file, 0o755);
    return join(folder, name);
  };
  const rest = process.env['PATH'] ?? '';
  const whole = execFileSync(
    python,
    ['-c', 'import numpy, sys; print(sys.executable, "%d.%d.%d" % sys.version_info[:3], numpy.__version__)'],
    { encoding: 'utf8' },
  );
  const [executable = '', version = '', numpy = ''] = whole.trim().split(' ');
  const exact = `ok      python: Python ${version}\n          ${executable}\n          numpy ${numpy}\n`;
  const real = await withPython('real', `exec ${python} "$@"`);
  const found = shown([real, rest].join(delimiter));
  assert.ok(found.includes(exact), found);
  const bare = await withPython('bare', `exec ${python} -S "$@"`);
  assert.match(
    shown([bare, rest].join(delimiter)),
    /^ok {6}python: Python 3\.[^]*\n {10}without numpy, which models that use arrays need: .* -m pip install numpy$/m,
  );
  await mkdir(join(folder, 'packages', 'numpy'), { recursive: true });
  await writeFile(join(folder, 'packages', 'numpy', '__init__.py'), 'raise ImportError("no libgone.so")\n');
  const broken = await withPython('broken', `PYTHONPATH='${join(folder, 'packages')}' exec ${python} "$@"`);
  assert.match(
    shown([broken, rest].join(delimiter)),
    /^ok {6}python: Python 3\.[^]*\n {10}numpy, which models that use arrays need, cannot be imported: ImportError: no libgone\.so; install it again with '.* -m pip install --force-reinstall numpy'$/m,
  );
  const old = await withPython('old', 'echo 3.7.9; echo /usr/bin/python3.7');
  assert.match(
    shown([old, rest].join(delimiter)),
    /^MISSING python: Python\n {10}'\/usr\/bin\/python3\.7' is Python 3\.7\.9, and 3\.8 is the oldest/m,
  );
  // What the system lacks for a process of Python is told, and the list goes on.
  const lacking = await withPython('lacking', 'echo "BlockingIOError: EAGAIN" >&2; exit 1');
  const without = shown([lacking, rest].join(delimiter));
  assert.match(
    without,
    /^MISSING pytorch: PyTorch\n {10}.*Command failed: python3 -c import sys …: BlockingIOError: EAGAIN$/m,
  );
  assert.match(without, /^Devices$/m);
  const none = JSON.parse(shown(dirname(process.execPath).concat('/nowhere'), '--json')) as Survey;
  const one = none.backends.find(({ name }) => name === 'python');
  assert.equal(one?.ok, false);
  assert.match(one.reason, /there is no 'python3': install Python 3\.8 or newer/);
});
