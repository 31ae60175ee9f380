// Long: it starts many processes.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertEnding, runEnding } from './harness.js';

void suite('a process ends by itself', { concurrency: 2 }, () => {
  test('where its server was never used', async (t) => {
    assertEnding(await runEnding(t, 'natural', ['unused']), 0);
  });

  test('where its server only polls its repository', async (t) => {
    assertEnding(await runEnding(t, 'natural', ['polled']), 0);
  });

  test('where its server is idle', async (t) => {
    assertEnding(await runEnding(t, 'natural', ['idle']), 0);
  });

  test('when the requests in flight are answered', async (t) => {
    const outcome = await runEnding(t, 'natural', ['in-flight']);
    assertEnding(outcome, 0);
    assert.equal(outcome.stdout.match(/^answer \d$/gm)?.length, 10);
  });

  test('although a run that nobody waits for any more goes on', async (t) => {
    assertEnding(await runEnding(t, 'natural', ['cancelled']), 0);
  });

  test('when its server is closed, with what is in flight answered', async (t) => {
    const outcome = await runEnding(t, 'natural', ['closing']);
    assertEnding(outcome, 0);
    assert.match(outcome.stdout, /answer\n(.*\n)*closed\n$/);
  });

  test('when a beforeExit listener has closed its server', async (t) => {
    const outcome = await runEnding(t, 'natural', ['closing-before-exit']);
    assertEnding(outcome, 0);
    assert.match(outcome.stdout, /^ready\n(closed\n)+$/);
  });

  test('not before close() has settled, also where only a cancelled request still runs', async (t) => {
    const outcome = await runEnding(t, 'natural', ['closing-after-cancelling']);
    assertEnding(outcome, 0);
    assert.match(outcome.stdout, /closed\n$/);
  });
});
