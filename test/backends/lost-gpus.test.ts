/** The effects of a lost GPU on its models and on others. Driver and TensorRT are fakes. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { fakeGpus } from './fake-gpus.js';

const fakes = await fakeGpus({ after });
const options = { skip: fakes ? false : 'needs Linux' };

const plan = `fake-plan 10
op add
input x 0 0 0 -1 16
output y 0 0 0 -1 16
profile x 1 16 4 16 8 16
`;

/** A model y = x + 1 on GPUs. */
function model(...gpus: readonly number[]): RepositoryModel {
  const config = `platform: "tensorrt_plan" instance_group { kind: KIND_GPU gpus: [ ${gpus.join(', ')} ] }`;
  return { config, versions: { '1': { 'model.plan': plan } } };
}

const both = `
platform: "ensemble"
input { name: "x" data_type: TYPE_FP32 dims: [ -1, 16 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ -1, 16 ] }
ensemble_scheduling {
  step { model_name: "zero" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "z" } }
  step { model_name: "one" model_version: -1 input_map { key: "x" value: "z" } output_map { key: "y" value: "y" } }
}
`;

const nested = `
platform: "ensemble"
input { name: "x" data_type: TYPE_FP32 dims: [ -1, 16 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ -1, 16 ] }
ensemble_scheduling {
  step { model_name: "both" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } }
}
`;

test(
  'the versions on a GPU that is lost fail with the reason, others go on, and a load begins anew',
  options,
  async () => {
    assert.ok(fakes);
    const repository = await writeRepository(await temporaryFolder({ after }), {
      zero: model(0),
      one: model(1),
      spread: model(0, 1),
      both: { config: both, versions: { '1': {} } },
      nested: { config: nested, versions: { '1': {} } },
    });
    const told = await fakes.lose({ lose: '0:3' }, repository);
    assert.deepEqual(told.answers, [1, 1]);
    assert.match(
      told.error,
      /^UNAVAILABLE DEVICE_LOST model 'zero': the GPU is lost for this process: GPU 0: cu\w+ failed with CUDA_ERROR_LAUNCH_FAILED/,
    );
    const [state, reason] = told.index['zero'] ?? [];
    assert.equal(state, 'UNAVAILABLE');
    assert.match(
      reason ?? '',
      /^model 'zero': the GPU is lost for this process: GPU 0: cu\w+ failed with CUDA_ERROR_LAUNCH_FAILED \(719: unspecified launch failure\)$/,
    );
    assert.deepEqual(told.index['one'], ['READY', '']);
    assert.equal(told.index['both']?.[0], 'UNAVAILABLE');
    assert.match(told.index['both'][1], /model 'zero' has failed/);
    const goesOn =
      /it goes on without its instances on GPU 0: the GPU is lost for this process: GPU 0: cu\w+ failed with CUDA_ERROR_LAUNCH_FAILED/;
    assert.equal(told.index['spread']?.[0], 'READY');
    assert.match(told.index['spread'][1], goesOn);
    assert.deepEqual(
      told.spread,
      Array.from({ length: 12 }, () => 1),
    );
    const about = told.warnings.filter((text) => text.startsWith("model 'spread'"));
    assert.equal(about.length, 1);
    assert.match(about[0] ?? '', goesOn);
    assert.equal(told.ready, false);
    assert.match(told.later, /^UNAVAILABLE DEVICE_LOST .*zero/);
    assert.equal(Object.keys(told.ensembles).length, 6);
    for (const [how, text] of Object.entries(told.ensembles)) {
      const why = how.startsWith('both') ? "model 'zero' has failed" : "model 'both' is not served any more";
      assert.match(text, new RegExp(`^UNAVAILABLE DEVICE_LOST .*${why}`), how);
    }
    assert.equal(told.other, 1);
    assert.equal(told.again, 1);
    assert.deepEqual(told.devices, ['cpu', 'gpu:0', 'gpu:1']);
  },
);
