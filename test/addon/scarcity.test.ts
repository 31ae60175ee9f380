/**
 * Tests the addon when C++ on the JS thread runs out of memory: every allocation of every call fails once, in turn.
 * `native/test/scarcity/scarcity.cc` does the same for the engine's own threads.
 */

// Long: it lets each allocation fail in turn.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import '../support/fault-addon.js';
import { addon } from '../../src/addon/load.js';
import {
  createServer,
  TritonError,
  type InferenceServer,
  type InferOptions,
  type ModelRequest,
  type TensorInput,
} from '../../src/index.js';
import { identity, row } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const skip = addon().failAllocation ? false : 'this addon cannot make allocations fail';

/** Fails allocation 1 of `call`, then 2, and so on until all succeed. Returns the number of reported failures. */
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

/** Waits for all promises, and then rejects with the first rejection. */
async function settled(all: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(all);
  await Promise.all(all);
}

void suite('where C++ finds no memory on the JS thread', { skip }, () => {
  test('an environment does not load the addon, and the next one does', async () => {
    const source = `
      const { parentPort } = require('node:worker_threads');
      let outcome;
      try {
        outcome = require(process.env.TRITONTS_ADDON).failAllocation(0);
      } catch (error) {
        outcome = error.message;
      }
      parentPort.postMessage(outcome);`;
    // Resolves with the allocations left until the failing one, or with the load's error.
    const load = async (number: number): Promise<unknown> => {
      const env = { ...process.env, TRITONTS_TEST_FAIL_AT_LOAD: String(number) };
      Object.assign(process.env, { TRITONTS_TEST_FAIL_AT_LOAD: String(number) });
      try {
        const worker = new Worker(source, { eval: true, env });
        const [told] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
        return told[0] as unknown;
      } finally {
        delete process.env['TRITONTS_TEST_FAIL_AT_LOAD'];
      }
    };
    let told = 0;
    for (let number = 1; ; number++) {
      assert.ok(number < 200, 'the load allocates without end');
      const outcome = await load(number);
      if (outcome === 'no memory') told++;
      else if (outcome !== 0) {
        assert.ok(Number(outcome) > 0, String(outcome));
        break;
      }
    }
    assert.ok(told > 3, `${told} failures were told`);
    assert.equal(await load(0), 0);
  });

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
        // Wait until no request is left, before the first failure is reported.
        await Promise.allSettled(requests);
        await Promise.all(requests);
      };
      const told = await failEach(call, async () => {
        // A new version keeps nothing of the previous one.
        await server.loadModel(name);
      });
      assert.ok(told > 3, `${name}: ${told} failures were told`);
      await ask(7);
    }
  });

  test('a server of a model of the program is not made, and the next one is', async () => {
    const tensor = { data_type: 'TYPE_FP32' as const, dims: [16] };
    const models = {
      m: {
        config: { max_batch_size: 0, input: [{ name: 'x', ...tensor }], output: [{ name: 'y', ...tensor }] },
        execute: (requests: readonly ModelRequest[]) => requests.map(({ inputs }) => ({ y: inputs['x'] })),
      },
    };
    let server: InferenceServer | undefined;
    const told = await failEach(
      async () => {
        server = await createServer({ models });
      },
      async () => {
        server ??= await createServer({ models });
        await server.infer('m', { x: row(1) });
        await server.close();
        server = undefined;
      },
    );
    assert.ok(told > 10, `${told} failures were told`);
  });

  test('models of the program answer or fail each request, and go on', async (t) => {
    const tensor = { data_type: 'TYPE_FP32' as const, dims: [-1] };
    const config = {
      max_batch_size: 64,
      input: [{ name: 'x', ...tensor }],
      output: [{ name: 'y', ...tensor }],
    };
    const answer = ({ inputs }: ModelRequest): Record<string, TensorInput | undefined> => ({
      y: inputs['x'],
    });
    const server = await createServer({
      models: {
        together: {
          config: { ...config, dynamic_batching: {} },
          execute: (requests: readonly ModelRequest[]) => requests.map(answer),
        },
        apart: {
          config,
          execute: async (requests: readonly ModelRequest[]) => {
            await Promise.resolve();
            return requests.map((request, i) => {
              if (request.id === 'fails') throw new Error('a message that is too long for a short string');
              return { y: [[i]] };
            });
          },
        },
        // A batch of these has more words than an instance has room for at first.
        ranks: {
          config: {
            max_batch_size: 128,
            dynamic_batching: {},
            input: [{ ...config.input[0], dims: new Array<number>(150).fill(1) }],
            output: config.output,
          },
          execute: (requests: readonly ModelRequest[]) => requests.map(() => ({ y: [[1]] })),
        },
        many: {
          config: { ...config, max_batch_size: 0, model_transaction_policy: { decoupled: true } },
          execute: (requests: readonly ModelRequest[]) =>
            requests.map(function* (request) {
              for (let i = 0; i < 40; i++) yield answer(request);
            }),
        },
        stream: {
          config: { ...config, max_batch_size: 0, model_transaction_policy: { decoupled: true } },
          execute: (requests: readonly ModelRequest[]) =>
            requests.map(async function* (request) {
              for (let i = 0; i < 40; i++) {
                if (i % 9 === 0) await new Promise(setImmediate);
                yield answer(request);
              }
            }),
        },
      },
    });
    t.after(() => server.close({ timeoutMs: 0 }));
    const infer = async (model: string, length: number, options: InferOptions = {}): Promise<void> => {
      const { outputs } = await server.infer(
        model,
        { x: { data: row(1, length), shape: [1, length] } },
        options,
      );
      assert.ok(outputs['y'] !== undefined);
    };
    const stream = async (model: string): Promise<void> => {
      let count = 0;
      for await (const { outputs } of server.stream(model, { x: row(1, 100) })) {
        assert.deepEqual(outputs['y']?.data, row(1, 100));
        // Read slowly, so that the model has to wait for its reader.
        await new Promise(setImmediate);
        count++;
      }
      assert.equal(count, 40);
    };
    const parameters = { text: 'a text that is too long for a short string' };
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      together: () =>
        settled(
          Array.from({ length: 20 }, (_, i) =>
            infer('together', (i % 3) + 1, i > 9 ? { id: 'b'.repeat(i), parameters } : {}),
          ),
        ),
      large: () => settled([infer('together', 50_000), infer('together', 50_000)]),
      apart: () => settled([infer('apart', 3), infer('apart', 7, { parameters })]),
      error: async () => {
        await assert.rejects(infer('apart', 3, { id: 'fails' }), (error: TritonError) => {
          if (error.code === 'UNAVAILABLE') throw error;
          return /too long/.test(error.message);
        });
      },
      ranks: () =>
        settled(
          Array.from({ length: 128 }, (_, i) => server.infer('ranks', { x: row(1, 1) }, { id: String(i) })),
        ),
      many: () => stream('many'),
      stream: () => stream('stream'),
    };
    for (const [name, call] of Object.entries(calls)) {
      await call();
      const told = await failEach(call, call);
      t.diagnostic(`${name}: ${told} failures were told`);
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
