/**
 * What the addon does when C++ on the JS thread finds no memory: every allocation of every call fails once,
 * one after another. `native/test/scarcity.cc` does the same for the engine's own threads.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import '../support/fault-addon.js';
import { addon } from '../../src/addon/load.js';
import { createServer, TritonError, type InferenceServer } from '../../src/index.js';
import { identity, row } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const skip = addon().failAllocation ? false : 'this addon cannot make allocations fail';

/** Lets allocation 1 of `call` fail, then 2, and so on until it makes no more; returns how many failures were told. */
async function failEach(call: () => Promise<unknown>, after: () => Promise<unknown>): Promise<number> {
  let told = 0;
  for (let number = 1; ; number++) {
    assert.ok(number < 20_000, 'the call allocates without end');
    addon().failAllocation?.(number);
    const error = await call().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const left = addon().failAllocation?.(0);
    if (error !== undefined) {
      assert.ok(error instanceof TritonError, `allocation ${number} ended in what is no error`);
      assert.equal(error.code, 'UNAVAILABLE', `allocation ${number}: ${error.message}`);
      assert.match(error.message, /memory/, `allocation ${number}`);
      told++;
    }
    await after();
    if (left !== undefined && left > 0) return told;
  }
}

void suite('where C++ finds no memory on the JS thread', { skip }, () => {
  test('a server is not made, and the next one is', async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), { tiny: identity() });
    let server: InferenceServer | undefined;
    const told = await failEach(
      async () => {
        server = await createServer(repository);
      },
      async () => {
        server ??= await createServer(repository);
        await server.infer('tiny', { x: row(1) });
        await server.close();
        server = undefined;
      },
    );
    assert.ok(told > 3, `${told} failures were told`);
  });

  test('a server goes on', async (t) => {
    const models = { tiny: identity(), other: identity() };
    const tensor = { data_type: 'TYPE_FP32' as const, dims: [16] };
    const config = {
      backend: 'identity',
      max_batch_size: 8,
      input: [{ name: 'x', ...tensor }],
      output: [{ name: 'y', ...tensor }],
    };
    const repository = await writeRepository(await temporaryFolder(t), models);
    const server = await createServer({ modelRepository: repository, modelControlMode: 'explicit' });
    t.after(() => server.close());
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      load: () => server.loadModel('tiny', { config }),
      files: () => server.loadModel('tiny', { config, files: { '1/note.txt': new Uint8Array(5000) } }),
      statistics: async () => Promise.resolve(server.statistics()),
      index: async () => Promise.resolve(server.index()),
      infer: () => Promise.all(Array.from({ length: 300 }, (_, i) => server.infer('tiny', { x: row(i) }))),
      large: () => server.infer('tiny', { x: { data: new Float32Array(64 * 16), shape: [64, 16] } }),
      unload: () => server.unloadModel('other'),
    };
    await server.loadModel('tiny');
    for (const [name, call] of Object.entries(calls)) {
      await server.loadModel('other');
      const told = await failEach(call, async () => {
        if (name === 'unload') await server.loadModel('other');
        await server.loadModel('tiny');
        const { outputs } = await server.infer('tiny', { x: row(7) });
        assert.deepEqual(outputs['y']?.data, row(7), name);
      });
      t.diagnostic(`${name}: ${told} failures were told`);
    }
  });

  test('requests with priorities, deadlines and an order are all answered', async (t) => {
    const policy = (action: string): string =>
      `{ timeout_action: ${action} default_timeout_microseconds: 60000000 allow_timeout_override: true max_queue_size: 1000 }`;
    const levels = [
      'priority_levels: 1000 default_priority_level: 3',
      `default_queue_policy ${policy('REJECT')} priority_queue_policy { key: 2 value ${policy('DELAY')} }`,
    ].join(' ');
    const models = {
      levels: identity({ batching: levels, maxBatchSize: 4, instances: 2 }),
      order: identity({ batching: 'preserve_ordering: true', maxBatchSize: 4, instances: 3 }),
      here: identity({ batching: 'preserve_ordering: true', parameters: { inline: '10000' } }),
    };
    const repository = await writeRepository(await temporaryFolder(t), models);
    const server = await createServer({ modelRepository: repository, modelControlMode: 'explicit' });
    t.after(() => server.close());
    for (const name of Object.keys(models)) {
      await server.loadModel(name);
      const ask = async (i: number): Promise<void> => {
        const parameters =
          i % 3 === 0 ? { text: 'a text that is too long for a short string', i } : undefined;
        const options = { priority: i, timeoutUs: i % 2 === 0 ? 50_000_000 : undefined, parameters };
        const { outputs } = await server.infer(name, { x: row(i) }, options);
        assert.deepEqual(outputs['y']?.data, row(i), name);
      };
      const call = async (): Promise<void> => {
        const requests = Array.from({ length: 100 }, (_, i) => ask(i));
        // None is left when the first failure is told.
        await Promise.allSettled(requests);
        await Promise.all(requests);
      };
      const told = await failEach(call, async () => {
        // A new version has nothing from the one before.
        await server.loadModel(name);
      });
      assert.ok(told > 3, `${name}: ${told} failures were told`);
      await ask(7);
    }
  });

  test('a server closes', async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), { tiny: identity() });
    let server = await createServer(repository);
    await failEach(
      () => server.close(),
      async () => {
        await assert.rejects(server.infer('tiny', { x: row(1) }), { code: 'UNAVAILABLE' });
        server = await createServer(repository);
      },
    );
    await server.close();
  });
});
