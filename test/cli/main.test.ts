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
    [['serv'], /^tritonts: unknown command 'serv' \(did you mean serve\?\)\n/],
  ] as const) {
    const { code, stdout, stderr } = await command(t, ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, first);
    assert.match(stderr, /Usage:/);
  }
});

const commands = ['serve', 'check', 'backends', 'init', 'types'];

test('every command has --help and -h, and help <command> prints the same', async (t) => {
  for (const name of commands) {
    const { code, stdout, stderr } = await command(t, name, '--help');
    assert.deepEqual([code, stderr], [0, ''], name);
    assert.match(stdout, new RegExp(`^Usage: tritonts ${name} `, 'm'));
    assert.match(stdout, /--help/);
    for (const args of [
      [name, '-h'],
      ['help', name],
    ])
      assert.equal((await command(t, ...args)).stdout, stdout, args.join(' '));
  }
});

test('what is nearly a command or a flag gets a suggestion; exit code 2', async (t) => {
  for (const [args, meant] of [
    [['chekc'], 'check'],
    [['type'], 'types'],
    [['--verison'], '--version'],
    [['help', 'int'], 'init'],
    [['serve', '--model-repositry=.'], 'model-repository'],
    [['check', '.', '--confg'], '--config'],
    [['backends', '--jsno'], '--json'],
    [['types', '.', '--ouput=x'], '--output'],
    [['init', 'digits', '--hepl'], '--help'],
    [['init', 'digit'], 'digits'],
  ] as const) {
    const { code, stdout, stderr } = await command(t, ...args);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.ok(stderr.includes(`(did you mean ${meant}?)`), stderr);
  }
  // Nothing is made up where nothing is near.
  for (const args of [['toString'], ['zebra'], ['check', '.', '--zebra']])
    assert.doesNotMatch((await command(t, ...args)).stderr, /did you mean/);
});
