/** Every failed start of a Python model's process is only an error of its model. */

import assert from 'node:assert/strict';
import { ChildProcess, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { TritonError } from '../../src/index.js';
import { row, rejection, until, type Context } from '../support/harness.js';
import { temporaryFolder, type RepositoryModel } from '../support/repository.js';
import { adds, python, recorded, script, serving, skip } from '../python/harness.js';

const { errno } = constants;
const lacks = { EMFILE: errno.EMFILE, ENFILE: errno.ENFILE, EAGAIN: errno.EAGAIN, ENOMEM: errno.ENOMEM };

/**
 * Node's internal handle of a process. `spawn` returns 0, or a negative errno. It takes an object with the member
 * `file`, or since Node 24 several arguments, of which the file is the first.
 */
type SpawnArguments = [options: object] | [file: string, ...more: unknown[]];
interface Handle {
  spawn: (this: Handle, ...given: SpawnArguments) => number;
}
// Node's types lack this handle.
const handles = Object.getPrototypeOf(
  (new ChildProcess() as unknown as { _handle: Handle })._handle,
) as Handle;
const { spawn } = handles;

/** The arguments for a program that is not there. */
function missing(given: SpawnArguments): SpawnArguments {
  const [first, ...more] = given;
  return typeof first === 'string' ? ['/nowhere', ...more] : [{ ...first, file: '/nowhere' }];
}

/**
 * Makes starts of processes on this thread fail with `code`, if `fails` returns true for their number, from 1.
 * Returns a function that counts the starts.
 */
function failing(
  t: { after(release: () => void): void },
  code: number,
  fails: (number: number) => boolean,
): () => number {
  let number = 0;
  const restore = (): void => {
    handles.spawn = spawn;
  };
  t.after(restore);
  handles.spawn = function (this: Handle, ...given: SpawnArguments): number {
    if (!fails(++number)) return spawn.apply(this, given);
    // If fork fails, Node has already created the pipes, as for a missing program.
    if (code !== errno.EMFILE && code !== errno.ENFILE) spawn.apply(this, missing(given));
    return -code;
  };
  return () => {
    restore();
    return number;
  };
}

async function unpacked(t: Context): Promise<RepositoryModel> {
  const folder = await temporaryFolder(t);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'conda-unpack'), '');
  writeFileSync(join(bin, 'python'), `#!/bin/sh\nexec ${JSON.stringify(python)} "$@"\n`);
  chmodSync(join(bin, 'python'), 0o755);
  const archive = join(folder, 'environment.tar');
  execFileSync('tar', ['-cf', archive, '-C', folder, 'bin']);
  const parameters = { EXECUTION_ENV_PATH: '$$TRITON_MODEL_DIRECTORY/environment.tar' };
  return { ...script(adds, { parameters }), files: { 'environment.tar': readFileSync(archive) } };
}

const models: Readonly<Record<string, (t: Context) => Promise<RepositoryModel> | RepositoryModel>> = {
  'of one process': () => script(adds),
  'of two processes': () => script(adds, { instances: 2 }),
  'that completes its configuration': () =>
    script(`@staticmethod\ndef auto_complete_config(config):\n    return config\n${adds}`),
  'with an archive as its environment': unpacked,
};

for (const [code, number] of Object.entries(lacks)) {
  for (const [what, model] of Object.entries(models)) {
    test(`${code} at each start of a model ${what} is its load's error`, { skip }, async (t) => {
      const server = await serving(
        t,
        { m: await model(t) },
        { modelControlMode: 'explicit', logger: recorded().logger },
      );
      let starts = 0;
      for (let failed = 1; ; failed++) {
        const stop = failing(t, number, (one) => one === failed);
        const outcome = await server.loadModel('m').catch((error: unknown) => error);
        starts = stop();
        if (starts < failed) break;
        assert.ok(outcome instanceof TritonError, `start ${failed}`);
        const { code: status, reason, message } = outcome;
        assert.deepEqual([status, reason], ['UNAVAILABLE', 'NO_MEMORY'], message);
        assert.match(message, /model 'm'/);
        assert.equal(server.index()[0]?.state, 'UNAVAILABLE');
        // The resources are available again.
        await server.loadModel('m');
        await server.infer('m', { x: row() });
        await server.unloadModel('m');
      }
      assert.ok(starts > 0);
      await server.infer('m', { x: row() });
    });
  }

  test(`${code} at each of three restarts delays its instance`, { skip }, async (t) => {
    const { logger, lines } = recorded();
    const server = await serving(
      t,
      {
        m: script(`def execute(self, requests):
    if array(requests[0])[0, 0] == 1:
        os._exit(1)
    return [answer(array(request)) for request in requests]`),
      },
      { logger },
    );
    const stop = failing(t, number, (one) => one <= 3);
    const { reason } = await rejection(server.infer('m', { x: row(1) }));
    assert.equal(reason, 'INSTANCE_ENDED');
    await server.infer('m', { x: row() });
    assert.equal(stop(), 4);
    const said = lines.filter((line) => line.includes('is restarted'));
    assert.equal(said.length, 4, lines.join('\n'));
    for (const line of said.slice(1))
      assert.match(line, /could not be started|cannot be shared|file descriptor/);
  });
}

test('a Python that ends at once is not MISSING where nobody can be asked why', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const ends = join(folder, 'python');
  writeFileSync(ends, '#!/bin/sh\nexit 3\n', { mode: 0o755 });
  for (const number of Object.values(lacks)) {
    const server = await serving(
      t,
      { m: script(adds) },
      {
        modelControlMode: 'explicit',
        logger: recorded().logger,
        backendConfig: { python: { executable: ends } },
      },
    );
    failing(t, number, (one) => one === 2);
    const { code, reason } = await rejection(server.loadModel('m'));
    assert.deepEqual([code, reason], ['UNAVAILABLE', 'NO_MEMORY']);
    handles.spawn = spawn;
    await until(() => server.index()[0]?.state === 'UNAVAILABLE');
  }
});
