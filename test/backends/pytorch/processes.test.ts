/** Processes that use libtorch beside ONNX Runtime end as others do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChild } from '../../support/child.js';
import { onnx } from '../../support/harness.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { needsPyTorch, torch } from './models.js';

const program = new URL('../programs/two-runtimes.js', import.meta.url);

for (const order of [
  ['pytorch', 'onnxruntime'],
  ['onnxruntime', 'pytorch'],
]) {
  test(`a process that loads ${order.join(' and then ')} ends with code 0`, needsPyTorch, async (t) => {
    const tensors = { inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [4] }] };
    const repository = await writeRepository(await temporaryFolder(t), {
      pytorch: await torch('twice', tensors),
      onnxruntime: onnx(),
    });
    for (let round = 0; round < 3; round++) {
      const { code, signal, stdout, stderr } = await runChild(program, [repository, ...order]);
      assert.deepEqual([code, signal, stderr], [0, null, '']);
      assert.deepEqual(stdout.trim().split('\n').sort(), ['onnxruntime 2', 'pytorch 2']);
    }
  });
}
