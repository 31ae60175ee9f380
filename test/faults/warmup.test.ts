import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer } from '../../src/index.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { rejection, serve, start, until } from '../support/harness.js';
import { faulty } from './harness.js';

/** A faulty model that is warmed up. */
function warmed(parameters: Readonly<Record<string, string>>, count = 1): RepositoryModel {
  const inputs = [
    'inputs { key: "x" value { data_type: TYPE_FP32 dims: 16 zero_data: true } }',
    'inputs { key: "fault" value { data_type: TYPE_INT32 dims: 1 zero_data: true } }',
  ];
  return faulty({
    parameters,
    more: `model_warmup { name: "s" batch_size: 2 count: ${count} ${inputs.join(' ')} }`,
  });
}

for (const [fault, code, message] of [
  ['fails', 'INTERNAL', /an injected failure/],
  ['unavailable', 'UNAVAILABLE', /an injected failure/],
  ['throws', 'INTERNAL', /its backend failed to run: an injected exception/],
  ['lacks_memory', 'UNAVAILABLE', /its backend failed to run: no memory/],
  ['never_answers', 'INTERNAL', /./],
  ['wrong_rows', 'INTERNAL', /./],
  ['wrong_datatype', 'INTERNAL', /./],
  ['too_few_bytes', 'INTERNAL', /./],
  ['unknown_output', 'INTERNAL', /./],
] as const) {
  test(`a warm-up with the fault '${fault}' fails the load`, async (t) => {
    const error = await rejection(serve(t, { m: warmed({ fault }) }));
    assert.equal(error.code, code);
    assert.equal(error.model, 'm');
    assert.match(error.message, /model 'm', version 1: failed to run warmup sample 's': /);
    assert.match(error.message, message);
  });
}

for (const fault of ['answers_twice', 'other_thread', 'wrong_request', 'slow']) {
  test(`a warm-up with the fault '${fault}' goes well`, async (t) => {
    const server = await serve(t, { m: warmed({ fault, delay_ms: '1' }) });
    assert.equal(server.model('m').statistics().inference_count, 2);
  });
}

test('what was served goes on where the warm-up of its successor fails', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: faulty() });
  const server = await start(t, repository, { modelControlMode: 'explicit', loadModels: ['m'] });
  await writeRepository(repository, { m: warmed({ fault: 'fails' }) });
  const error = await rejection(server.loadModel('m'));
  assert.match(error.message, /failed to run warmup sample 's'/);
  assert.equal(server.model('m').ready, true);
});

test('a signal ends a warm-up that has many runs to go', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: warmed({}, 4_000_000_000) });
  const stop = new AbortController();
  const starting = createServer(repository, {
    signal: stop.signal,
    onProgress: ({ state }) => {
      if (state === 'WARMING_UP')
        setImmediate(() => {
          stop.abort();
        });
    },
  });
  assert.equal((await rejection(starting)).code, 'CANCELLED');
});

for (const fault of ['hangs', 'hangs_until_terminated']) {
  test(`a signal ends a warm-up with the fault '${fault}', whose instance is left behind`, async (t) => {
    const folder = await temporaryFolder(t);
    const hanging = join(folder, 'hangs');
    const repository = await writeRepository(join(folder, 'models'), {
      m: warmed({ fault, hang_file: hanging }),
    });
    const stop = new AbortController();
    const events: string[] = [];
    const starting = createServer(repository, {
      signal: stop.signal,
      onProgress: ({ state }) => events.push(state),
    });
    starting.catch(() => undefined);
    await until(() => (fault === 'hangs' ? existsSync(hanging) : events.includes('WARMING_UP')));
    stop.abort();
    assert.equal((await rejection(starting)).code, 'CANCELLED');
  });
}

test('close ends a warm-up that was asked for at run time', async (t) => {
  const folder = await temporaryFolder(t);
  const hanging = join(folder, 'hangs');
  const repository = await writeRepository(join(folder, 'models'), {
    m: warmed({ fault: 'hangs', hang_file: hanging }),
  });
  const server = await createServer(repository, { modelControlMode: 'explicit' });
  const loading = rejection(server.loadModel('m'));
  await until(() => existsSync(hanging));
  assert.equal((await rejection(server.close({ timeoutMs: 0 }))).code, 'INTERNAL');
  assert.equal((await loading).code, 'INTERNAL');
});
