/** The life of models that Triton's own Python backend runs: loads, reloads, killed processes, cancelled requests. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { TritonError, type InferenceServer } from '../../src/index.js';
import { floats, identity, rejection, row, until } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { adds, recorded } from '../python/harness.js';
import { both, pythonModel as model, servingBy, skip } from './harness.js';

/** Processes that this one has started, and that run Triton's stub. */
function stubs(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1];
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
        return parent === String(process.pid) && command.includes('triton_python_backend_stub');
      } catch {
        return false; // It has ended.
      }
    })
    .map(Number);
}

/** Files of Triton's Python backend that this process maps. Those of other processes come and go meanwhile. */
const segments = (): string[] => [
  ...new Set(readFileSync('/proc/self/maps', 'utf8').match(/\/dev\/shm\/triton_python_backend\S+/g)),
];

/** Says the number of its process. */
const tells = `def execute(self, requests):
    return [answer(array(request) * 0 + os.getpid()) for request in requests]`;

async function processOf(server: InferenceServer, name: string): Promise<number> {
  return floats(await server.infer(name, { x: row() }))[0] ?? 0;
}

test('models are unloaded and loaded again, and leave no process and no memory', { skip }, async (t) => {
  const used = new Set<string>();
  await both(
    t,
    (who) => ({ add: model(who, adds), other: model(who, adds, { instances: 2 }) }),
    async (server, who) => {
      for (let k = 0; k < 3; k++) {
        await server.loadModel('add');
        await server.loadModel('other');
        for (const file of segments()) used.add(file);
        if (who === 'plugin') assert.ok(used.size >= 2);
        assert.deepEqual(floats(await server.infer('add', { x: row(k) })), [...row(k + 1)]);
        assert.deepEqual(floats(await server.infer('other', { x: row(k) })), [...row(k + 1)]);
        // A load beside the version that serves.
        await server.loadModel('add', {
          config: JSON.stringify({
            ...server.model('add').config,
            version_policy: undefined,
            max_batch_size: 4 + k,
            dynamic_batching: {},
          }),
        });
        assert.equal(server.model('add').config.max_batch_size, 4 + k);
        assert.deepEqual(floats(await server.infer('add', { x: row(k) })), [...row(k + 1)]);
        await server.unloadModel('add');
        assert.equal((await rejection(server.infer('add', { x: row() }))).code, 'NOT_FOUND');
      }
    },
    { modelControlMode: 'explicit' },
  );
  await until(() => stubs().length === 0);
  assert.deepEqual([...used].filter(existsSync), []);
});

test('the instances of a model have a process each', { skip }, async (t) => {
  const server = await servingBy(t, 'plugin', (who) => ({ tells: model(who, tells, { instances: 2 }) }));
  assert.equal(stubs().length, 2);
  const seen = await Promise.all(Array.from({ length: 200 }, () => processOf(server, 'tells')));
  assert.ok(seen.every((pid) => stubs().includes(pid)));
});

test('a model whose process is killed fails its requests until it is loaded again', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const text = `def execute(self, requests):
    if array(requests[0])[0, 0] == 1:
        open(os.path.join(${JSON.stringify(folder)}, "begun"), "w").close()
        time.sleep(600)
    return [answer(array(request) * 0 + os.getpid()) for request in requests]`;
  const server = await servingBy(t, 'plugin', (who) => ({ tells: model(who, text), same: identity() }), {
    modelControlMode: 'explicit',
    loadModels: ['*'],
  });
  const first = await processOf(server, 'tells');
  assert.deepEqual(stubs(), [first]);
  const waiting = rejection(server.infer('tells', { x: row(1) }));
  await until(() => existsSync(join(folder, 'begun')));
  process.kill(first, 'SIGKILL');
  for (const failed of [waiting, rejection(server.infer('tells', { x: row() }))]) {
    const error = await failed;
    assert.equal(error.code, 'INTERNAL');
    assert.match(error.message, /Stub process .* is not healthy/);
  }
  assert.deepEqual(floats(await server.infer('same', { x: row(3) })), [...row(3)]);
  // As Triton's backend of this version does, it starts no other process by itself.
  await server.unloadModel('tells');
  await server.loadModel('tells');
  const second = await processOf(server, 'tells');
  assert.notEqual(second, first);
  assert.deepEqual(stubs(), [second]);
});

test('a model sees that its caller has left', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const text = `def execute(self, requests):
    for request in requests:
        if array(request)[0, 0] == 1:
            open(os.path.join(${JSON.stringify(folder)}, "begun"), "w").close()
            while not request.is_cancelled():
                time.sleep(0.001)
            open(os.path.join(${JSON.stringify(folder)}, "seen"), "w").close()
    return [answer(array(request) + 1) for request in requests]`;
  for (const who of ['own', 'plugin'] as const) {
    const server = await servingBy(t, who, (kind) => ({ waits: model(kind, text, { maxBatchSize: 1 }) }));
    const abort = new AbortController();
    const given = rejection(server.infer('waits', { x: row(1) }, { signal: abort.signal }));
    await until(() => existsSync(join(folder, 'begun')));
    abort.abort();
    assert.equal((await given).code, 'CANCELLED');
    await until(() => existsSync(join(folder, 'seen')));
    assert.deepEqual(floats(await server.infer('waits', { x: row(2) })), [...row(3)]);
    await server.close();
  }
});

test('what a model logs goes to the logger', { skip }, async (t) => {
  const text = `def initialize(self, args):
    pb_utils.Logger.log_error("an error")
    pb_utils.Logger.log_warn("a warning")
    pb_utils.Logger.log_info("an info")
${adds}`;
  const { logger, lines } = recorded();
  const server = await servingBy(t, 'plugin', (who) => ({ add: model(who, text) }), { logger });
  await server.infer('add', { x: row() });
  for (const [level, said] of [
    ['error', 'an error'],
    ['warn', 'a warning'],
    ['info', 'an info'],
  ] as const)
    await until(() => lines.some((line) => line.startsWith(`${level}: `) && line.includes(said)));
});

// It asks for no load that fails: by that the stub damages its shared memory, and both processes end, as with Triton's own
// server (docs/plugins.md).
test('a model loads, asks about and unloads others', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    said = [pb_utils.is_model_ready("add")]
    pb_utils.load_model("add")
    said.append(pb_utils.is_model_ready("add", "1"))
    pb_utils.unload_model("add")
    # Triton does not wait for the end of an unload.
    while pb_utils.is_model_ready("add"):
        time.sleep(0.001)
    return [answer(numpy.array([[str(one).encode() for one in said]], dtype=object)) for _ in requests]`;
  await both(
    t,
    (who) => ({
      add: model(who, adds),
      control: model(who, text, { outputs: [{ name: 'y', datatype: 'BYTES', dims: [2] }] }),
    }),
    async (server) => {
      const { outputs } = await server.infer('control', { x: row() });
      assert.deepEqual(outputs['y']?.strings(), ['False', 'True']);
    },
    { modelControlMode: 'explicit', loadModels: ['control'] },
  );
});

test('a server that closes while a model runs ends its processes', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const text = `def execute(self, requests):
    open(os.path.join(${JSON.stringify(folder)}, "begun"), "w").close()
    time.sleep(0.5)
    return [answer(array(request) + 1) for request in requests]`;
  const server = await servingBy(t, 'plugin', (who) => ({ slow: model(who, text) }));
  const given = server.infer('slow', { x: row(1) }).then(floats, (error: unknown) => {
    assert.ok(error instanceof TritonError);
    return error.code;
  });
  await until(() => existsSync(join(folder, 'begun')));
  await server.close();
  const answer = await given;
  assert.ok(answer === 'UNAVAILABLE' || answer === 'CANCELLED' || answer[0] === 2, String(answer));
  await until(() => stubs().length === 0);
});
