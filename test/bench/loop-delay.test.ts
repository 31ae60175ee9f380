import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopDelay } from '../../bench/measuring/loop-delay.js';

/** Blocks the thread. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('a blocked loop shows as a delay of its length', () => {
  const watch = new LoopDelay();
  block(20);
  const { longest, p99, samples } = watch.stop();
  assert.ok(longest >= 19, `${longest} ms`);
  assert.ok(p99 <= longest);
  assert.equal(samples.length, 1);
});

test('samples go on after a delay, each with its time', async () => {
  const watch = new LoopDelay();
  block(10);
  // Timers of one length fire in order, so those of the watch are among these.
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 1));
  const { samples } = watch.stop();
  assert.ok(samples.length >= 3);
  assert.ok((samples[0]?.late ?? 0) >= 9);
  const times = samples.map(({ at }) => at);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
});
