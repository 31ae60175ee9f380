// Long: it starts many processes.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { packageVersion } from '../../src/version.js';
import { createServer } from '../../src/index.js';
import { identity, rejection } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
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

const commands = ['serve', 'check', 'backends', 'build-backend', 'init', 'types'];

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

test('build-backend takes the name of a backend that is built; exit code 2 otherwise', async (t) => {
  const folder = await temporaryFolder(t);
  for (const [args, words] of [
    [[], 'expected the name of a backend that is built, pytorch, but received nothing'],
    [['onnxruntime'], "but received 'onnxruntime'"],
    [['pytorch', 'more'], "but received 'pytorch more'"],
    [['pytorch', '--torch', folder], `names the folder ${folder}, which has no library of libtorch`],
    [['pytorch', '--torch', `${folder}/none`], `there is no libtorch '${folder}/none'`],
  ] as const) {
    const { code, stdout, stderr } = await command(t, 'build-backend', ...args);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.ok(stderr.includes(words), stderr);
  }
});

test('what is nearly a command or a flag gets a suggestion; exit code 2', async (t) => {
  for (const [args, meant] of [
    [['chekc'], 'check'],
    [['type'], 'types'],
    [['--verison'], '--version'],
    [['help', 'int'], 'init'],
    [['serve', '--model-repositry=.'], '--model-repository'],
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
  // No suggestion if no known word is similar.
  for (const args of [['toString'], ['zebra'], ['check', '.', '--zebra']])
    assert.doesNotMatch((await command(t, ...args)).stderr, /did you mean/);
});

test(
  'an output that cannot be written is an error with exit code 2; a reader that is gone is none',
  { skip: !existsSync('/dev/full') },
  async (t) => {
    const main = fileURLToPath(new URL('../../command/main.js', import.meta.url));
    const repository = await writeRepository(await temporaryFolder(t), { m: identity() });
    for (const args of [
      ['--help'],
      ['--version'],
      ['serve', '--help'],
      ['check', repository],
      ['types', repository],
    ]) {
      for (const [shell, code, message] of [
        ['"$0" "$@" > /dev/full', 2, /^tritonts: standard output cannot be written: ENOSPC/],
        ['"$0" "$@" | true; exit ${PIPESTATUS[0]}', 0, /^$/],
      ] as const) {
        const child = spawn('bash', ['-c', shell, process.execPath, main, ...args], {
          stdio: ['ignore', 'inherit', 'pipe'],
        });
        let stderr = '';
        child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
        const [ended] = (await once(child, 'close')) as [number | null];
        assert.equal(ended, code, `${args.join(' ')}: ${stderr}`);
        assert.match(stderr, message);
      }
    }
  },
);

test('types says which file cannot be written, and what to do', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: identity() });
  for (const file of ['/nowhere/models.d.ts', '/', '']) {
    const { code, stdout, stderr } = await command(t, 'types', repository, '--output', file);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(
      stderr,
      /^tritonts: UNAVAILABLE: the declaration cannot be written to '.*': E\w+: .*: name a file in a folder that is there/,
    );
  }
});

test('numbers of threads have a limit, in the command line and in options', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: identity() });
  for (const flag of ['threads', 'model-load-thread-count']) {
    const { code, stderr } = await command(t, 'serve', repository, `--${flag}=100000`);
    assert.equal(code, 2);
    assert.match(
      stderr,
      new RegExp(`expected an integer from 1 to 4096 for --${flag} but received '100000'`),
    );
  }
  for (const name of ['threads', 'modelLoadConcurrency']) {
    const error = await rejection(createServer(repository, { [name]: 2 ** 32 }));
    assert.match(
      error.message,
      new RegExp(`expected an integer from 1 to 4096 for options\\.${name} but received`),
    );
  }
  const server = await createServer(repository, { threads: 4096, modelLoadConcurrency: 4096 });
  await server.close();
});
