import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packageVersion } from '../../src/version.js';
import { command, tritonts } from './run.js';

test('--version prints the version of the package', async () => {
  for (const flag of ['--version', '-v']) {
    const { code, stdout, stderr } = await tritonts(flag);
    assert.deepEqual([code, stdout, stderr], [0, `${packageVersion}\n`, '']);
  }
});

test('--help lists the commands', async (t) => {
  for (const flag of ['--help', '-h', 'help']) {
    const { code, stdout } = await command(t, flag);
    assert.equal(code, 0);
    assert.match(stdout, /tritonts check <repository>/);
  }
});

test('without a command, or with an unknown one, it prints the help as an error; exit code 2', async (t) => {
  for (const [args, first] of [
    [[], /^tritonts /],
    [['serv'], /^tritonts: unknown command 'serv'\n/],
  ] as const) {
    const { code, stdout, stderr } = await command(t, ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, first);
    assert.match(stderr, /Usage:/);
  }
});
