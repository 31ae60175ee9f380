import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../support/onnx/random.js';
import { grows, trend } from './statistics.js';

const times = Array.from({ length: 80 }, (_, i) => i);

test('the trend of a line is its slope, beyond doubt', () => {
  const line = trend(
    times,
    times.map((time) => 3 + 2 * time),
  );
  assert.ok(Math.abs(line.slope - 2) < 1e-9);
  assert.ok(grows(line));
});

test('noise around a level does not grow', () => {
  const chance = random(1);
  assert.ok(
    !grows(
      trend(
        times,
        times.map(() => 100 + chance.next()),
      ),
    ),
  );
});

test('slow waves are no growth, though neighbours resemble each other', () => {
  assert.ok(
    !grows(
      trend(
        times,
        times.map((time) => Math.sin(time / 8)),
      ),
    ),
  );
});

test('a leak under noise is found', () => {
  const chance = random(2);
  assert.ok(
    grows(
      trend(
        times,
        times.map((time) => time * 0.5 + 10 * chance.next()),
      ),
    ),
  );
});

test('what shrinks does not grow', () => {
  assert.ok(
    !grows(
      trend(
        times,
        times.map((time) => -time),
      ),
    ),
  );
});
