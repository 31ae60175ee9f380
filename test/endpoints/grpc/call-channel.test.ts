/** The channel of calls: errors of its subscribers are theirs alone. */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { callStarted, type StartedCall } from '../../../src/endpoints/grpc/call-channel.js';
import { until } from '../../support/harness.js';
import { answered, setup } from './peer-setup.js';
import { Peer } from './peer.js';

test('an error of a function that waits for the end of a call does not affect calls', async (t) => {
  const { endpoint, request } = await setup(t);
  const peer = new Peer(t, endpoint);
  const faults: unknown[] = [];
  process.setUncaughtExceptionCaptureCallback((fault) => faults.push(fault));
  const onCall = (message: unknown): void => {
    (message as StartedCall).whenEnded((status) => {
      throw new Error(`status ${status}`);
    });
  };
  subscribe(callStarted, onCall);
  try {
    peer.call(1, request);
    await answered(peer, 1);
    await until(() => faults.length === 1);
    peer.call(3, request);
    await answered(peer, 3);
    await until(() => faults.length === 2);
  } finally {
    unsubscribe(callStarted, onCall);
    process.setUncaughtExceptionCaptureCallback(null);
  }
  assert.deepEqual(faults.map(String), ['Error: status 0', 'Error: status 0']);
});
