/** Batches of plug-ins on the JS thread: only of plug-ins that have never waited. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer } from '../../../src/index.js';
import { pluginModel, serving, skip } from './own-plugins.js';

const io = { inputs: [{ name: 'x', dims: [3] }], outputs: [{ name: 'y', dims: [3] }] } as const;

/** The most batches until a version is proven (`native/engine/version/conduct.h`), twice. */
const enough = 128;

async function ask(server: InferenceServer, name: string, count: number): Promise<void> {
  const values = Array.from({ length: count }, (_, i) => Float32Array.of(i, i + 0.5, -i));
  const results = await Promise.all(values.map((x) => server.infer(name, { x: [[...x]] })));
  assert.deepEqual(
    results.map(({ outputs }) => outputs['y']?.toArray()),
    values.map((x) => [[...x]]),
  );
}

/** How many batches ran inline, of `enough` and 64 more. */
async function inlineOf(server: InferenceServer, name: string, together: number): Promise<number> {
  for (let i = 0; i < enough + 64; i++) await ask(server, name, together);
  return server.explain(name).inline;
}

test('a plug-in that never waits runs inline, and answers each request with its own', { skip }, async (t) => {
  const server = await serving(
    t,
    { one: pluginModel('identity', io), many: pluginModel('identity', { ...io, maxBatchSize: 8 }) },
    { inline: 10_000 },
  );
  assert.ok((await inlineOf(server, 'one', 1)) > 0);
  assert.ok((await inlineOf(server, 'many', 20)) > 0);
});

test('the option inline keeps a plug-in off the JS thread', { skip }, async (t) => {
  const server = await serving(
    t,
    {
      one: pluginModel('identity', io),
      own: pluginModel('identity', { ...io, parameters: { inline: '10000' } }),
    },
    { inline: 'off' },
  );
  assert.equal(await inlineOf(server, 'one', 2), 0);
  assert.ok((await inlineOf(server, 'own', 2)) > 0);
});

test('a plug-in that may ask its server never runs inline', { skip }, async (t) => {
  const server = await serving(
    t,
    {
      asks: pluginModel('breaker', {
        maxBatchSize: 8,
        inputs: [{ name: 'x', dims: [-1] }],
        outputs: [
          { name: 'y', dims: [-1] },
          { name: 'told', datatype: 'BYTES', dims: [1] },
        ],
      }),
    },
    { inline: 10_000 },
  );
  for (let i = 0; i < enough; i++) await server.infer('asks', { x: [[i]] });
  assert.equal(server.explain('asks').inline, 0);
  assert.match(server.model('asks').runtimeInfo().neverInline ?? '', /TRITONSERVER_Server/);
});
