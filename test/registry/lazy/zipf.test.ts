// Long: it plays many random cases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectServer } from '../../../src/client/index.js';
import { endpointOf as grpcOf } from '../../endpoints/grpc/harness.js';
import { endpointOf as httpOf } from '../../endpoints/http/harness.js';
import { attach } from '../../server/workers/client.js';
import { identity, serve } from '../../support/harness.js';
import { metric } from './harness.js';
import { modelName, runZipf, type Infer } from './zipf.js';

test('many models on little memory: by a Zipf law, of each kind of caller, none fails', async (t) => {
  const models = 120;
  const server = await serve(
    t,
    Object.fromEntries(Array.from({ length: models }, (_, i) => [modelName(i), identity()])),
    // A model counts 64 KiB at least, or half of that, so at most 48 fit.
    { load: 'lazy', memoryBudgetBytes: 24 * 64 * 1024, logger: {} },
  );
  const [http, grpc] = [await httpOf(t, server), await grpcOf(t, server)];
  const remotes = await Promise.all([
    connectServer(`http://127.0.0.1:${http.address.port}`, { retries: 0 }),
    connectServer(`grpc://127.0.0.1:${grpc.address.port}`, { retries: 0 }),
  ]);
  for (const remote of remotes) t.after(() => remote.close({ timeoutMs: 0 }));
  const own: Infer = (name, inputs) => server.infer(name, inputs);
  const callers = [
    own,
    ...remotes.map(
      (remote): Infer =>
        (name, inputs) =>
          remote.infer(name, inputs),
    ),
  ];
  const worker = await attach(t, server.handle);
  const state = { isOver: false };
  const threads = (async (): Promise<void> => {
    for (let i = 0; !state.isOver; i = (i + 7) % models)
      assert.deepEqual(await worker.ask('infer', { name: modelName(i), count: 1 }), [0]);
  })();
  const outcome = await runZipf(callers, { models, requests: 600, atOnce: 4, added: 0 });
  state.isOver = true;
  await threads;
  assert.deepEqual(outcome, { answered: 600, errors: [], failed: 0 });
  assert.ok(metric(server, 'tritonts_lazy_evictions') > 50);
  assert.ok(metric(server, 'tritonts_lazy_models_loaded') <= 48);
});
