/** Memory of GPUs that clients share. Driver, GPUs and TensorRT are fakes; no call of the driver is on the main thread. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { adds, executing, script } from '../javascript/harness.js';
import { chain, ensemble, onnx } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { fakeGpus } from './fake-gpus.js';

const fakes = await fakeGpus({ after });
const options = { skip: fakes ? false : 'needs Linux' };

const tensors = {
  inputs: [{ name: 'x', dims: [4] }],
  outputs: [{ name: 'y', dims: [4] }],
};
const plan = `fake-plan 10
op add
input x 0 0 0 -1 4
output y 0 0 0 -1 4
profile x 1 4 4 4 8 4
`;

const models = {
  plan: {
    config: 'platform: "tensorrt_plan" max_batch_size: 8 instance_group { kind: KIND_GPU gpus: 1 }',
    versions: { '1': { 'model.plan': plan } },
  },
  onnx: onnx(addModel({ width: 4 }), { ...tensors, maxBatchSize: 8 }),
  script: script(executing(adds), { ...tensors, maxBatchSize: 8 }),
  slow: script(
    `import { existsSync } from 'node:fs';
    ${executing(`return (async () => {
      while (!existsSync(process.env.TRITONTS_TEST_GO)) await new Promise((resolve) => setTimeout(resolve, 5));
      ${adds}
    })();`)}`,
    { ...tensors, maxBatchSize: 8 },
  ),
  chain: ensemble(chain(['plan']), { ...tensors, maxBatchSize: 8 }),
};

test(
  'tensors of clients in memory of a GPU are read and written by models on it and on the host',
  options,
  async () => {
    assert.ok(fakes);
    const repository = await writeRepository(await temporaryFolder({ after }), models);
    const { told, streamed, inProcess } = await fakes.regions({}, repository);
    for (const [protocol, steps] of Object.entries(told)) {
      const one = { name: 'r', device_id: 1, byte_size: 64 };
      assert.equal(steps['registered'], undefined);
      assert.deepEqual(steps['status'], [[one], [one], []], protocol);
      for (const [name, message] of [
        ['twice', /shared memory region 'r' already in manager/],
        ['more', /register shared memory region: invalid args: 's': the memory has 64 bytes, and so not 65/],
        ['elsewhere', /invalid args: 's': there is no GPU 7, but 2 from 0 on/],
        ['unknown', /invalid args: 's': GPU 1: cuIpcOpenMemHandle failed with 1/],
        ['short', /'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t/],
        ['beyond', /Invalid offset for shared memory region: 'r': it has 64 bytes, and the offset is 64/],
        ['gone', /Unable to find shared memory region: 'r'/],
      ] as const) {
        const { message: said } = steps[name] as { message: string };
        assert.match(said, message, `${protocol}: ${name}`);
      }
      const [system, cuda] = steps['other kind'] as { message: string }[];
      assert.match(system?.message ?? '', /'r' is registered as CUDA shared memory, not system/);
      assert.match(cuda?.message ?? '', /Unable to find cuda shared memory region: 's'/);
      for (const name of ['plan', 'onnx', 'script', 'chain']) {
        const { direct, answer, stored, read, small, over } = steps[name] as Record<string, unknown>;
        assert.deepEqual(direct, name === 'plan' ? [true, true] : [false, false], `${protocol}: ${name}`);
        assert.deepEqual(answer, { shape: [1, 4] }, `${protocol}: ${name}`);
        assert.deepEqual(stored, [2, 3, 4, 5], `${protocol}: ${name}`);
        assert.deepEqual(read, { shape: [1, 4], floats: [2, 3, 4, 5] }, `${protocol}: ${name}`);
        assert.match(
          (small as { message: string }).message,
          /output 'y' \(8 bytes\) should be at least 16 bytes to hold the results/,
        );
        assert.deepEqual(over, [2, 3, 4, 5], `${protocol}: ${name}`);
      }
      assert.equal(steps['other'], undefined);
      assert.deepEqual(steps['by the host'], [2, 3, 4, 5]);
      const other = { name: 'other', device_id: 0, byte_size: 64 };
      const [unregistered, listed, again] = steps['leaving'] as unknown[];
      assert.deepEqual([unregistered ?? undefined, listed], [undefined, [other]]);
      assert.match((again as { message: string }).message, /region 'other' already in manager/);
      assert.deepEqual(steps['left'], [{ shape: [1, 4] }, [2, 3, 4, 5], [one]]);
      assert.deepEqual([steps['system'], steps['unregistered']], [undefined, undefined]);
      assert.deepEqual([steps['still'], steps['none']], [[one], []]);
    }
    // The requests of a sequence keep their order, and the last response of a stream says that it is.
    assert.deepEqual(streamed, [[1, 2, 3], [false, false, true], [2]]);
    assert.deepEqual(inProcess, [
      'ok',
      [{ name: 'p', deviceId: 0, byteSize: 64 }],
      [],
      'INVALID_ARG: expected an integer of at least 1 for options.byteSize but received 0 of type number',
      'INVALID_ARG: expected 64 bytes for options.handle but received 63 bytes',
      true,
      [],
      true,
      true,
    ]);
  },
);
