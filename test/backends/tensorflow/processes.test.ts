/** Processes that use TensorFlow beside other runtimes end as others do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChild } from '../../support/child.js';
import { onnx } from '../../support/harness.js';
import { hasOpenVino } from '../../support/openvino.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { openvino, recordedModel as recordedOfOpenVino } from '../openvino/models.js';
import { needsTensorFlow, recordedModel, tensorflow } from './models.js';

const program = new URL('../programs/two-runtimes.js', import.meta.url);

const needsBoth = hasOpenVino
  ? needsTensorFlow
  : { skip: 'OpenVINO is not installed: set TRITONTS_OPENVINO_PATH' };

for (const [order, needed] of [
  [['tensorflow'], needsTensorFlow],
  [['tensorflow', 'onnxruntime'], needsTensorFlow],
  [['onnxruntime', 'tensorflow'], needsTensorFlow],
  [['tensorflow', 'openvino'], needsBoth],
  [['openvino', 'tensorflow', 'onnxruntime'], needsBoth],
] as const) {
  test(`a process that loads ${order.join(' and then ')} ends with code 0`, needed, async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), {
      tensorflow: await tensorflow(recordedModel('double_FP32')),
      openvino: await openvino(recordedOfOpenVino('double_FP32')),
      onnxruntime: onnx(),
    });
    const { code, signal, stdout } = await runChild(program, [repository, ...order]);
    assert.deepEqual([code, signal], [0, null]);
    assert.deepEqual(
      stdout.trim().split('\n'),
      order.map((name) => `${name} 2`),
    );
  });
}
