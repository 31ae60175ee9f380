// Long: it starts many processes.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertEnding, nodesReport, runEnding } from './harness.js';

/** The activities that are under way when a process ends. */
const activities = ['onnxruntime', 'identity', 'hanging', 'hanging-twice', 'streaming', 'loading', 'closing'];

for (const busy of activities) {
  void suite(`while there is ${busy}`, { concurrency: 4 }, () => {
    test('process.exit() ends the process with its code', async (t) => {
      assertEnding(await runEnding(t, 'exit', [busy, 'exit']), 7);
    });

    test('an error that nobody catches ends the process with 1, and is all it says', async (t) => {
      const outcome = await runEnding(t, 'exit', [busy, 'throw']);
      assertEnding(outcome, 1, { stderr: nodesReport('thrown on purpose') });
    });

    test('SIGTERM ends the process', async (t) => {
      assertEnding(await runEnding(t, 'exit', [busy, 'none'], { signal: 'SIGTERM' }), 'SIGTERM');
    });

    test('a listener of SIGINT may exit', async (t) => {
      assertEnding(await runEnding(t, 'exit', [busy, 'exit-on-signal'], { signal: 'SIGINT' }), 3);
    });
  });
}

void suite('whatever is under way', { concurrency: 4 }, () => {
  for (const busy of ['onnxruntime', 'streaming']) {
    test(`SIGINT ends the process: ${busy}`, async (t) => {
      assertEnding(await runEnding(t, 'exit', [busy, 'none'], { signal: 'SIGINT' }), 'SIGINT');
    });

    test(`a rejection that nobody handles ends the process with 1, and is all it says: ${busy}`, async (t) => {
      const outcome = await runEnding(t, 'exit', [busy, 'reject']);
      assertEnding(outcome, 1, { stderr: nodesReport('rejected on purpose') });
    });

    test(`an exit listener may still use the server, and change the code: ${busy}`, async (t) => {
      assertEnding(await runEnding(t, 'exit', [busy, 'exit-in-listener']), 9);
    });

    test(`a listener of SIGTERM may close the server, and the process ends then: ${busy}`, async (t) => {
      const outcome = await runEnding(t, 'exit', [busy, 'close-on-signal'], { signal: 'SIGTERM' });
      assertEnding(outcome, 0);
      assert.equal(outcome.stdout, 'ready\nclosed\n');
    });
  }
});

test('close() reports a backend that hangs, and the process then ends at once', async (t) => {
  const outcome = await runEnding(t, 'exit', ['hanging', 'close']);
  assertEnding(outcome, 0);
  assert.match(outcome.stdout, /TritonError: .*'faulty' did not return.*\nclosed\n$/);
});

test('a program that emits exit by itself and goes on has its requests refused, and none hangs', async (t) => {
  const outcome = await runEnding(t, 'emit', []);
  assertEnding(outcome, 0);
  assert.equal(
    outcome.stdout,
    [
      'ready',
      'running: answered',
      "waiting: UNAVAILABLE: model 'soon': the process is exiting",
      "late: UNAVAILABLE: model 'echo': the process is exiting",
      'closed',
      '',
    ].join('\n'),
  );
});
