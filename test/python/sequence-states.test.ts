import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, rejection, row } from '../support/harness.js';
import { script, serving, skip } from './harness.js';

test('a model has states and controls among its inputs, and returns states', { skip }, async (t) => {
  const execute = `def execute(self, requests):
    responses = []
    for request in requests:
        names = [one.name() for one in request.inputs()]
        if names != ["x", "sum", "start"]:
            raise ValueError("unexpected inputs " + ",".join(names))
        y = array(request) + array(request, "sum") + array(request, "start")
        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", y), pb_utils.Tensor("next", y)]))
    return responses`;
  const more = `sequence_batching {
    control_input { name: "start" control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } }
    state { input_name: "sum" output_name: "next" data_type: TYPE_FP32 dims: [ 16 ] }
  }
  model_warmup { name: "first" batch_size: 3 inputs { key: "x" value { data_type: TYPE_FP32 dims: 16 random_data: true } } }`;
  const server = await serving(t, { m: script(execute, { batching: false, more }) });
  assert.equal(server.model('m').statistics().inference_stats.success.count, 3);
});

test(
  'a state follows the responses, whichever outputs are wanted, and stays when a run fails',
  { skip },
  async (t) => {
    const execute = `def execute(self, requests):
    responses = []
    for request in requests:
        if array(request)[0][0] >= 100:
            raise ValueError("too much")
        if "next" not in request.requested_output_names():
            raise ValueError("the state is not among the outputs that are needed")
        y = array(request) + array(request, "sum")
        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", y), pb_utils.Tensor("next", y)]))
    return responses`;
    const more =
      'sequence_batching { state { input_name: "sum" output_name: "next" data_type: TYPE_FP32 dims: [ 16 ] } }';
    const server = await serving(t, { m: script(execute, { batching: false, more }) });
    const sequence = server.model('m').sequence();
    const x = (first: number): { x: Float32Array } => ({ x: row(first) });
    const first = async (result: Promise<Parameters<typeof floats>[0]>): Promise<unknown> =>
      floats(await result)[0];
    assert.equal(await first(sequence.infer(x(1))), 1);
    assert.equal(await first(sequence.infer(x(2), { outputs: ['y'] })), 3);
    assert.match((await rejection(sequence.infer(x(100)))).message, /too much/);
    assert.equal(await first(sequence.end(x(4), { outputs: ['y'] })), 7);
  },
);
