// Long: it starts many processes.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { runtimeVersion } from '../support/runtime.js';
import { assertEnding, runEnding } from './harness.js';

for (const order of ['before', 'after', 'around', 'between']) {
  void suite(`with onnxruntime-node used ${order} ours, and at the same time`, { concurrency: 2 }, () => {
    test('a process ends by itself', async (t) => {
      assertEnding(await runEnding(t, 'onnxruntime', [order, 'natural']), 0);
    });

    test('a process ends after both are closed', async (t) => {
      assertEnding(await runEnding(t, 'onnxruntime', [order, 'close']), 0);
    });

    test('process.exit() during runs keeps its code', async (t) => {
      assertEnding(await runEnding(t, 'onnxruntime', [order, 'exit']), 7);
    });

    test('a worker that uses both ends', async (t) => {
      assertEnding(await runEnding(t, 'onnxruntime', [order, 'natural', '--worker']), 0);
    });
  });
}

const other = process.env['TRITONTS_OTHER_ORT'];
const skip =
  other === undefined ? 'TRITONTS_OTHER_ORT names no ONNX Runtime library of another version' : false;
for (const order of ['before', 'after', 'around', 'between']) {
  for (const [ending, code] of [
    ['natural', 0],
    ['exit', 7],
  ] as const) {
    test(`another version of the library, ${order} onnxruntime-node: ${ending}`, { skip }, async (t) => {
      const outcome = await runEnding(t, 'onnxruntime', [order, ending]);
      assertEnding(outcome, code);
      assert.match(outcome.stdout, /^version 1\.\d+\.\d+$/m);
      assert.ok(!outcome.stdout.includes(`version ${runtimeVersion}\n`), outcome.stdout);
    });
  }
}
