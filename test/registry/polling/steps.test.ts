/** Results of steps that took longer than a poll. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { late, patienceMs, Steps } from '../../../src/registry/polling/steps.js';
import { gate } from '../sources/serve.js';

/** A step that is late, and has ended since. */
async function lateSteps(subject: object): Promise<Steps<object, string>> {
  const steps = new Steps<object, string>(new AbortController().signal);
  const slow = gate();
  const timer = setInterval(() => undefined, 1000);
  assert.equal(await steps.run(subject, () => slow.promise.then(() => 'old')), late);
  clearInterval(timer);
  slow.open();
  await turn();
  return steps;
}

void suite('steps that are late', { concurrency: true, timeout: 60_000 }, () => {
  test('the next poll of a timer takes the result', async () => {
    const subject = {};
    const steps = await lateSteps(subject);
    assert.equal(await steps.run(subject, () => assert.fail('there is a result')), 'old');
    assert.equal(await steps.run(subject, () => Promise.resolve('new')), 'new');
  });

  test('a poll of the program begins a new step', async () => {
    const subject = {};
    const steps = await lateSteps(subject);
    assert.equal(await steps.run(subject, () => Promise.resolve('new'), true), 'new');
    assert.equal(steps.ageMs(subject), 0);
  });

  test('without an answer in time it takes the old result', async () => {
    const subject = {};
    const steps = await lateSteps(subject);
    const slow = gate();
    const timer = setInterval(() => undefined, 1000);
    const begun = performance.now();
    assert.equal(await steps.run(subject, () => slow.promise.then(() => 'new'), true), 'old');
    clearInterval(timer);
    assert.ok(performance.now() - begun > patienceMs - 100);
    slow.open();
  });

  test('of a subject that is gone is forgotten', async () => {
    const subject = {};
    const steps = await lateSteps(subject);
    assert.ok(steps.ageMs(subject) > 0);
    steps.keep(() => false);
    assert.equal(steps.ageMs(subject), 0);
  });
});
