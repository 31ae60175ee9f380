import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { createServer, type InferenceServer, type ServerOptions } from '../../src/index.js';
import {
  floats,
  identity,
  rejection,
  row,
  until,
  type ConfigOptions,
  type Context,
} from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { asking, faulty } from './harness.js';

/**
 * A server with a model `faulty`, which runs requests one by one, and a healthy model. The tests close it.
 */
async function two(
  context: Context,
  model: ConfigOptions = {},
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  const models = { faulty: faulty({ batching: false, ...model }), echo: identity() };
  return createServer(await writeRepository(await temporaryFolder(context), models), options);
}

/** How long an action took, in milliseconds. */
async function timed(action: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await action();
  return performance.now() - begin;
}

void suite('faults that hang', { concurrency: true }, () => {
  test('a run that hangs keeps no other model, and no other instance, from running', async (t) => {
    const server = await two(t, { instances: 2 });
    const hanging = rejection(server.infer('faulty', asking('hangs')));
    for (let i = 0; i < 20; i++) {
      assert.deepEqual(floats(await server.infer('faulty', asking('none', i))), [...row(i)]);
      assert.deepEqual(floats(await server.infer('echo', { x: row(i) })), [...row(i)]);
    }
    await rejection(server.close({ timeoutMs: 0 }));
    assert.equal((await hanging).code, 'INTERNAL');
  });

  test('close abandons a run that hangs 2 s after its limit, and says which', async (t) => {
    const server = await two(t);
    const running = rejection(server.infer('faulty', asking('hangs')));
    const waiting = rejection(server.infer('faulty', asking('none')));
    const well = server.infer('echo', { x: row(3) });
    assert.deepEqual(floats(await well), [...row(3)]);
    let error: Awaited<typeof running> | undefined;
    const ms = await timed(async () => {
      error = await rejection(server.close({ timeoutMs: 100 }));
    });
    assert.equal(error?.code, 'INTERNAL');
    assert.match(error.message, /a run, load or destructor of 'faulty' did not return/);
    assert.ok(ms >= 2000, `${ms} ms`);
    const given = await running;
    assert.equal(given.code, 'INTERNAL');
    assert.match(given.message, /model 'faulty': a run did not return/);
    assert.equal((await waiting).code, 'CANCELLED');
  });

  test('closing again has the same outcome', async (t) => {
    const server = await two(t);
    const running = rejection(server.infer('faulty', asking('hangs')));
    const errors = await Promise.all([rejection(server.close({ timeoutMs: 0 })), rejection(server.close())]);
    assert.equal(errors[0], errors[1]);
    await running;
    await rejection(server[Symbol.asyncDispose]());
  });

  test('a run that waits to be asked to end is asked when the time is over', async (t) => {
    const server = await two(t);
    const running = rejection(server.infer('faulty', asking('hangs_until_terminated')));
    const ms = await timed(() => server.close({ timeoutMs: 50 }));
    assert.equal((await running).code, 'CANCELLED');
    assert.ok(ms >= 50, `${ms} ms`);
  });

  test('a request whose run hangs can be cancelled, and its model unloaded around it', async (t) => {
    const server = await two(t, {}, { modelControlMode: 'explicit', loadModels: ['*'] });
    const abort = new AbortController();
    const running = rejection(server.model('faulty').infer(asking('hangs'), { signal: abort.signal }));
    abort.abort();
    assert.equal((await running).code, 'CANCELLED');
    const unloading = server.unloadModel('faulty');
    await until(() => !server.model('faulty').ready);
    assert.equal((await rejection(server.infer('faulty', asking('none')))).code, 'UNAVAILABLE');
    assert.deepEqual(floats(await server.infer('echo', { x: row(1) })), [...row(1)]);
    await rejection(server.close({ timeoutMs: 0 }));
    await unloading;
  });

  for (const at of ['load', 'configure', 'instance']) {
    test(`a model that hangs at ${at} keeps the others from nothing, and close abandons it`, async (t) => {
      const file = join(await temporaryFolder(t), 'hangs');
      const loads = { parameters: { load_fault: 'hangs', at, hang_file: file } };
      const server = await two(t, loads, { modelControlMode: 'explicit', loadModels: ['echo'] });
      const loading = rejection(server.loadModel('faulty'));
      await until(() => existsSync(file));
      assert.deepEqual(floats(await server.infer('echo', { x: row(1) })), [...row(1)]);
      const error = await rejection(server.close({ timeoutMs: 0 }));
      assert.equal(error.code, 'INTERNAL');
      assert.match(error.message, /a run, load or destructor of 'faulty' did not return/);
      const failure = await loading;
      assert.equal(failure.code, 'INTERNAL');
      assert.match(failure.message, /model 'faulty': loading did not return/);
    });
  }

  test('a model that is slow to destroy keeps no other from being unloaded, and close abandons it', async (t) => {
    const slow = { parameters: { destroy_ms: 12_000 } };
    const server = await two(t, slow, { modelControlMode: 'explicit', loadModels: ['*'] });
    const unloading = server.unloadModel('faulty');
    let destroyed = false;
    const gone = unloading.then(() => (destroyed = true));
    await server.unloadModel('echo');
    assert.equal(destroyed, false);
    let error: Awaited<ReturnType<typeof rejection>> | undefined;
    const ms = await timed(async () => {
      error = await rejection(server.close({ timeoutMs: 100 }));
    });
    assert.equal(error?.code, 'INTERNAL');
    assert.match(error.message, /a run, load or destructor of 'faulty' did not return/);
    assert.ok(ms >= 2000, `${ms} ms`);
    await gone;
  });

  test('starting a server whose model hangs at load can be cancelled', async (t) => {
    const file = join(await temporaryFolder(t), 'hangs');
    const abort = new AbortController();
    const parameters = { load_fault: 'hangs', hang_file: file };
    const starting = rejection(two(t, { parameters }, { signal: abort.signal }));
    await until(() => existsSync(file));
    abort.abort('enough');
    const error = await starting;
    assert.equal(error.code, 'CANCELLED');
    assert.equal(error.cause, 'enough');
  });
});
