import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipMemory } from '../support/sanitizer.js';
import { runMemory } from './harness.js';

const skip = process.platform === 'linux' ? skipMemory : 'memory is asked of Linux';

test(
  'files that are given as bytes are copied once, and the copy is gone when the model is loaded',
  { skip },
  async (t) => {
    const megabytes = 200;
    const { code, stdout, stderr } = await runMemory(t, 'files', [String(megabytes)]);
    assert.deepEqual([code, stderr], [0, ''], stdout);
    const rounds = stdout
      .split('\n')
      .slice(1, 4)
      .map((line) => line.split(' ').map(Number));
    assert.equal(rounds.length, 3, stdout);
    for (const [peak = NaN, left = NaN] of rounds) {
      assert.ok(peak < 1.25 * megabytes, `at most ${peak} MB more: ${stdout}`);
      assert.ok(left < 0.2 * megabytes, `${left} MB more afterwards: ${stdout}`);
    }
  },
);
