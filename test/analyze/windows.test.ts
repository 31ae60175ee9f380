import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSettled, turnMs, windowLength } from '../../src/analyze/trial/windows.js';

test('a window has several answers to each caller, and fewer of many callers', () => {
  assert.equal(windowLength(120, 64, undefined), 120);
  assert.equal(windowLength(120, 64, 1), 120);
  assert.equal(windowLength(120, 1, 100), 400);
  assert.equal(windowLength(120, 16, 100), 200);
  assert.equal(windowLength(120, 64, 3200), 6400);
});

/** The answers of a model with one run at a time, to callers that all began at 0, between two moments. */
function answers(
  callers: number,
  runMs: number,
  fromMs: number,
  toMs: number,
): Parameters<typeof isSettled>[0] {
  const ends = Array.from({ length: Math.floor(toMs / runMs) }, (_, i) => (i + 1) * runMs);
  const seen = ends.filter((end) => end > fromMs);
  const latency = (end: number): number => Math.min(end, callers * runMs);
  const meanMs = seen.reduce((sum, end) => sum + latency(end), 0) / seen.length;
  return { concurrency: callers, requests: seen.length, refusals: 0, elapsedMs: toMs - fromMs, meanMs };
}

test('a window at the start of a long queue is not believed', () => {
  const early = answers(64, 50, 30, 550);
  assert.ok(early.meanMs < 350);
  assert.ok(turnMs(early) > 3000);
  assert.equal(isSettled(early), false);
  const late = answers(64, 50, 3200, 6400);
  assert.equal(late.meanMs, 3200);
  assert.equal(isSettled(late), true);
});

test('a short window that saw few of the batches is not believed', () => {
  const counts = { concurrency: 64, refusals: 0, elapsedMs: 400, meanMs: 100 };
  assert.equal(isSettled({ ...counts, requests: 64 }), false);
  assert.equal(isSettled({ ...counts, requests: 256 }), true);
});

test('time between answers and requests does not count in long windows, and refusals have no latency', () => {
  const counts = { concurrency: 1, requests: 1000, refusals: 0, elapsedMs: 100, meanMs: 0.05 };
  assert.equal(isSettled(counts), true);
  assert.equal(isSettled({ ...counts, requests: 5 }), false);
  assert.equal(isSettled({ ...counts, requests: 5, refusals: 1 }), true);
});
