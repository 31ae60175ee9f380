// Own process: it counts all threads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadEvent } from '../../src/index.js';
import { identityModel } from '../support/models.js';
import type { RepositoryModel } from '../support/repository.js';
import { identity, serve, threadCount } from '../support/harness.js';

test('a repository of 500 models loads with progress, and with no threads of their own', async (t) => {
  const names = Array.from({ length: 500 }, (_, i) => `m${String(i).padStart(3, '0')}`);
  const completed: RepositoryModel = { versions: { '1': identityModel('FP32', ['N', 4]) } };
  // One in five has to be opened and completed.
  const models = Object.fromEntries(names.map((name, i) => [name, i % 5 === 0 ? completed : identity()]));
  const events: LoadEvent[] = [];
  const server = await serve(t, models, { onProgress: (event) => events.push(event) });

  const ready = events.filter(({ state, version }) => state === 'READY' && version === '1');
  assert.deepEqual(ready.map(({ model }) => model).sort(), names);
  assert.ok(events.every(({ total }) => total === 500));
  const counts = [...new Set(events.map(({ done }) => done))];
  // No event is missing, and none comes too early.
  assert.deepEqual(
    counts,
    Array.from({ length: 501 }, (_, i) => i),
  );
  assert.equal(server.index({ ready: true }).length, 500);

  const threads = await threadCount();
  const x = new Float32Array(4);
  for (const name of names.filter((_, i) => i % 50 === 0)) await server.infer(name, { x });
  // An instance starts its thread with its first batch.
  const more = (await threadCount()) - threads;
  assert.ok(more <= 10, `${more} more threads for 10 models`);
  assert.ok(threads < 60, `${threads} threads for 500 models`);
});
