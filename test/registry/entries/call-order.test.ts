import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { CallOrder } from '../../../src/registry/entries/call-order.js';

test('a call waits for all earlier ones of its name, also if one between them fails at once', async () => {
  const order = new CallOrder();
  const first = order.enter('m');
  assert.equal(first.earlier, undefined);
  const failed = order.enter('m');
  const last = order.enter('m');
  failed.leave();
  let waited = false;
  const waiting = last.earlier?.then(() => (waited = true));
  await turn();
  assert.equal(waited, false);
  first.leave();
  await waiting;
  last.leave();
  await turn();
  assert.equal(order.enter('m').earlier, undefined);
  assert.equal(order.enter('other').earlier, undefined);
});
