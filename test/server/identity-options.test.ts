/** The options `id` and `strictReadiness`, in the owner's environment and in attached ones. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachServer, createServer } from '../../src/index.js';
import { identity, rejection, serve } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';

/** A model that cannot be loaded. */
const broken = { config: 'backend: "identity" max_batch_size: -1', versions: { '1': {} } };

test('a server is ready without a model that failed only where readiness is not strict', async (t) => {
  for (const strictReadiness of [undefined, true, false]) {
    const options = { exitOnError: false, strictReadiness, logger: {} };
    const server = await serve(t, { good: identity(), broken }, options);
    const attached = await attachServer(server.handle);
    const expected = strictReadiness === false;
    assert.deepEqual([server.ready, attached.ready], [expected, expected]);
    await attached.close();
    await server.close();
    assert.equal(server.ready, false);
  }
});

test('the metadata have the id', async (t) => {
  const server = await serve(t, { good: identity() }, { id: 'shop' });
  const attached = await attachServer(server.handle);
  assert.deepEqual([server.metadata().name, attached.metadata().name], ['shop', 'shop']);
  await attached.close();
  assert.equal((await serve(t, { good: identity() })).metadata().name, 'tritonts');
});

test('wrong values are refused', async (t) => {
  const folder = await temporaryFolder(t);
  for (const [options, text] of [
    ['{"id":""}', /options\.id/],
    ['{"id":5}', /options\.id/],
    ['{"strictReadiness":"yes"}', /options\.strictReadiness/],
  ] as const) {
    const { code, message } = await rejection(createServer(folder, JSON.parse(options) as object));
    assert.equal(code, 'INVALID_ARG');
    assert.match(message, text);
  }
});
