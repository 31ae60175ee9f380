/** `attachServer` within one thread: handles, and the effect of closing an attached server. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { attachServer, type InferenceServer, type ServerHandle } from '../../src/index.js';
import { gate, held } from '../faults/harness.js';
import { floats, identity, rejection, row, serve, thrown, turn, type Context } from '../support/harness.js';

/** A server, and another connection to it. Runs of its model `slow` wait for `open`. */
async function pair(
  t: Context,
): Promise<{ owner: InferenceServer; attached: InferenceServer; open: () => Promise<void> }> {
  const closed = await gate(t);
  const slow = held(closed, { batching: false });
  const owner = await serve(t, { echo: identity(), slow });
  const attached = await attachServer(structuredClone(owner.handle));
  t.after(() => attached.close({ timeoutMs: 0 }));
  return { owner, attached, open: () => closed.open() };
}

test('an attached server answers', async (t) => {
  const { owner, attached } = await pair(t);
  assert.equal(floats(await attached.infer('echo', { x: row(4) }))[0], 4);
  assert.equal(attached.ready, true);
  assert.deepEqual(attached.index(), owner.index());
  assert.deepEqual(attached.model('echo').config, owner.model('echo').config);
  assert.deepEqual(attached.handle, owner.handle);
});

test('close() of an attached server ends its connection only', async (t) => {
  const { owner, attached } = await pair(t);
  await attached.close();
  const error = await rejection(attached.infer('echo', { x: row() }));
  assert.deepEqual([error.code, error.message], ['UNAVAILABLE', 'the server is closed']);
  assert.equal(thrown(() => attached.index()).code, 'UNAVAILABLE');
  assert.equal(floats(await owner.infer('echo', { x: row(1) }))[0], 1);
  assert.equal(owner.ready, true);
});

test('close() of an attached server answers its own requests first', async (t) => {
  const { attached, open } = await pair(t);
  const request = attached.infer('slow', { x: row(2) });
  const closed = [attached.close(), attached.close()];
  await turn();
  await open();
  await Promise.all(closed);
  assert.equal(floats(await request)[0], 2);
});

test('close({ timeoutMs: 0 }) of an attached server cancels its own requests, not those of others', async (t) => {
  const { owner, attached, open } = await pair(t);
  const own = [1, 2].map((first) => rejection(attached.infer('slow', { x: row(first) })));
  const other = owner.infer('slow', { x: row(9) });
  // Close while the first request still runs.
  await attached.close({ timeoutMs: 0 });
  for (const { code } of await Promise.all(own)) assert.equal(code, 'CANCELLED');
  await open();
  assert.equal(floats(await other)[0], 9);
});

test('an attached server loads and unloads nothing', async (t) => {
  const { attached } = await pair(t);
  for (const call of [attached.loadModel('echo'), attached.unloadModel('echo')]) {
    assert.equal((await rejection(call)).code, 'UNSUPPORTED');
  }
});

test('to attach to a closed server is UNAVAILABLE', async (t) => {
  const server = await serve(t, {});
  await server.close();
  const error = await rejection(attachServer(server.handle));
  assert.deepEqual([error.code, error.message], ['UNAVAILABLE', 'the server is closed']);
});

test('to attach to a server that never was is UNAVAILABLE', async (t) => {
  const { handle } = await serve(t, {});
  assert.equal((await rejection(attachServer({ ...handle, id: 1e6 }))).code, 'UNAVAILABLE');
});

test('the handle of another process is refused', async (t) => {
  const { handle } = await serve(t, {});
  const error = await rejection(attachServer({ ...handle, process: handle.process + 1 }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /belongs to process \d+, this is process \d+/);
});

test('the handle of another copy of the package, with an addon of its own, is refused', async (t) => {
  const { handle } = await serve(t, {});
  const error = await rejection(attachServer({ ...handle, engine: handle.engine + 1 }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /another copy of the package/);
});

void suite('anything that is no handle is refused:', () => {
  for (const value of [
    undefined,
    null,
    5,
    'server',
    [],
    {},
    { tritonts: 'server', process: process.pid, id: 'x' },
  ]) {
    test(`the value ${JSON.stringify(value)}`, async () => {
      const error = await rejection(attachServer(value as unknown as ServerHandle));
      assert.equal(error.code, 'INVALID_ARG');
    });
  }
});

test('a handle is frozen and survives a structured clone', async (t) => {
  const { handle } = await serve(t, {});
  assert.ok(Object.isFrozen(handle));
  assert.deepEqual(structuredClone(handle), handle);
});
