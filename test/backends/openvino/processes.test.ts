/** Processes that use OpenVINO beside ONNX Runtime end as others do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChild } from '../../support/child.js';
import { onnx } from '../../support/harness.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { needsOpenVino, openvino, recordedModel } from './models.js';

const program = new URL('../programs/two-runtimes.js', import.meta.url);

for (const order of [
  ['openvino', 'onnxruntime'],
  ['onnxruntime', 'openvino'],
]) {
  test(`a process that loads ${order.join(' and then ')} ends with code 0`, needsOpenVino, async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), {
      openvino: await openvino(recordedModel('double_FP32')),
      onnxruntime: onnx(),
    });
    const { code, signal, stdout, stderr } = await runChild(program, [repository, ...order]);
    assert.deepEqual([code, signal, stderr], [0, null, '']);
    assert.deepEqual(stdout.trim().split('\n').sort(), ['onnxruntime 2', 'openvino 2']);
  });
}
