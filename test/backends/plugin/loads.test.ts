/** Plug-ins that have other models loaded while their own are, and wait for that. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, identity, rejection, row, type Context } from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';
import { pluginModel, serving, skip } from './own-plugins.js';

/** A model whose load waits for that of another one. */
function asking(model: string): RepositoryModel {
  return pluginModel('breaker', { maxBatchSize: 8, parameters: { break: `load ${model}` } });
}

async function explicit(
  t: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  loadModels: string[] = [],
  modelLoadConcurrency = 4,
): Promise<Awaited<ReturnType<typeof serving>>> {
  return serving(t, models, { modelControlMode: 'explicit', loadModels, modelLoadConcurrency });
}

test('as many loads as there are loader threads wait for others', { skip }, async (t) => {
  const numbers = [0, 1, 2, 3];
  const models: Record<string, RepositoryModel> = {};
  for (const i of numbers) {
    models[`p${i}`] = asking(`n${i}`);
    models[`n${i}`] = identity();
  }
  const server = await explicit(t, models);
  await Promise.all(numbers.map((i) => server.loadModel(`p${i}`)));
  for (const i of numbers) assert.deepEqual(floats(await server.infer(`n${i}`, { x: row(i) }))[0], i);
});

test('a chain of loads needs one loader thread', { skip }, async (t) => {
  const server = await explicit(t, { a: asking('b'), b: asking('c'), c: identity() }, ['a'], 1);
  assert.ok(server.model('c').ready);
});

test('a load that would wait for itself is refused', { skip }, async (t) => {
  const server = await explicit(t, { a: asking('b'), b: asking('a'), own: asking('own') });
  const self = await rejection(server.loadModel('own'));
  assert.match(
    self.message,
    /'own': its backend asked to load or unload the model in a call that is part of that/,
  );
  const circle = await rejection(server.loadModel('a'));
  assert.match(circle.message, /load of '(a|b)' → load of '[ab]' → load of '\1'/);
  const both = await Promise.allSettled([server.loadModel('a'), server.loadModel('b')]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
});
