/**
 * Model files that are damaged, or need more memory than is available: each load fails with a coded error, and the
 * process goes on.
 */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from '../support/fast-check.js';
import { TritonError, type InferenceServer } from '../../src/index.js';
import { addModel, mlpModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import { floats, onnx, rejection, row, serve } from '../support/harness.js';

/** Loads a model from bytes without a configuration. Returns the error, or undefined if it loads. */
async function tryLoad(server: InferenceServer, content: Uint8Array): Promise<TritonError | undefined> {
  try {
    await server.loadModel('bad', {
      config: { backend: 'onnxruntime' },
      files: { '1/model.onnx': content },
    });
    await server.unloadModel('bad');
    return undefined;
  } catch (error) {
    assert.ok(error instanceof TritonError, String(error));
    assert.equal(error.model, 'bad');
    return error;
  }
}

void suite('damaged files', () => {
  const whole = addModel();

  test('a file that is cut off anywhere does not load, or loads without harm', async (t) => {
    const server = await serve(t, { add: onnx() }, { modelControlMode: 'explicit', loadModels: ['add'] });
    let refused = 0;
    for (let length = 0; length < whole.length; length += 3) {
      if (await tryLoad(server, whole.subarray(0, length))) refused++;
    }
    assert.ok(refused > 10, `${refused} were refused`);
    assert.equal(floats(await server.infer('add', { x: row() }))[0], 1);
  });

  test('bytes that are changed anywhere give a coded error at most', async (t) => {
    const server = await serve(t, { add: onnx() }, { modelControlMode: 'explicit', loadModels: ['add'] });
    const model = mlpModel([4, 8, 2]);
    const changes = fc.array(fc.record({ at: fc.nat(model.length - 1), to: fc.nat(255) }), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(changes, async (list) => {
        const damaged = model.slice();
        for (const { at, to } of list) damaged[at] = to;
        await tryLoad(server, damaged);
      }),
      // A fixed seed: ordinary test runs should not search for new failures.
      { numRuns: 150, seed: 7 },
    );
    assert.equal(floats(await server.infer('add', { x: row() }))[0], 1);
  });
});

void suite('absurd models', () => {
  test('dims beyond any memory do not load, or fail by request', async (t) => {
    const huge = 2 ** 40;
    const server = await serve(t, { add: onnx() }, { modelControlMode: 'explicit', loadModels: ['add'] });
    const model = graph('huge')
      .input('x', 'FP32', ['N', 1])
      .initializer('shape', 'INT64', [2], [1, huge])
      .node('Expand', ['x', 'shape'], ['y'])
      .output('y', 'FP32', ['N', huge])
      .encode();
    const error = await tryLoad(server, model);
    if (error) {
      assert.ok(
        ['INTERNAL', 'INVALID_ARG', 'UNAVAILABLE', 'UNSUPPORTED'].includes(error.code),
        error.message,
      );
    } else {
      await server.loadModel('bad', { config: { backend: 'onnxruntime' }, files: { '1/model.onnx': model } });
      const failure = await rejection(server.infer('bad', { x: new Float32Array(1) }));
      assert.ok(['INTERNAL', 'INVALID_ARG', 'UNAVAILABLE'].includes(failure.code), failure.message);
    }
    assert.equal(floats(await server.infer('add', { x: row() }))[0], 1);
  });

  test('a constant whose dims its bytes do not fill does not load', async (t) => {
    const server = await serve(t, { add: onnx() }, { modelControlMode: 'explicit', loadModels: ['add'] });
    const model = graph('hollow')
      .input('x', 'FP32', ['N', 16])
      .initializer('one', 'FP32', [1], [1])
      .node('Add', ['x', 'one'], ['y'])
      .output('y', 'FP32', ['N', 16])
      .encode();
    // The dims of `one`, a varint 1 after the field's tag, become 127 elements.
    const name = new TextEncoder().encode('one');
    const at = Buffer.from(model).lastIndexOf(Buffer.from(name));
    const tag = Buffer.from(model.subarray(0, at)).lastIndexOf(Buffer.from([0x08, 0x01]));
    const hollow = model.slice();
    hollow[tag + 1] = 127;
    const error = await tryLoad(server, hollow);
    assert.equal(error?.code, 'INTERNAL');
  });

  test('ten thousand inputs load, and a request for all of them is too big or answered', async (t) => {
    const count = 10_000;
    const model = graph('wide');
    for (let i = 0; i < count; i++) model.input(`x${i}`, 'FP32', ['N', 1]);
    model.node('Identity', ['x0'], ['y']).output('y', 'FP32', ['N', 1]);
    const server = await serve(t, { add: onnx() }, { modelControlMode: 'explicit', loadModels: ['add'] });
    await server.loadModel('wide', {
      config: { backend: 'onnxruntime' },
      files: { '1/model.onnx': model.encode() },
    });
    const inputs = Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, Float32Array.of(i)]));
    const error = await rejection(server.infer('wide', inputs));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(
      error.message,
      /model 'wide': the request's \d+ inputs, their dims and its parameters exceed the limit of a request: send fewer inputs/,
    );
    assert.equal(floats(await server.infer('add', { x: row() }))[0], 1);
  });
});
