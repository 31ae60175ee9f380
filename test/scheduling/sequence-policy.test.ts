import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelConfig } from '../../src/config/schema/types.js';
import { rerunsInHalves, codeRerunsInHalves } from '../../src/scheduling/policy.js';
import { hiddenTensors, sequencePolicyOf } from '../../src/scheduling/sequence-policy.js';
import { datatypeNumber } from '../../src/tensor/datatype.js';
import { normalized } from '../config/helpers.js';

function config(text: string): ModelConfig {
  return normalized(
    `name: "m" backend: "identity" input { name: "x" data_type: TYPE_FP32 dims: 2 } output { name: "y" data_type: TYPE_FP32 dims: 2 } ${text}`,
  );
}

const defaults = {
  minimumSlotUtilization: 0,
  maxQueueDelayUs: 0,
  maxIdleUs: 1_000_000,
  dynamic: undefined,
  preserveOrdering: false,
  iterative: false,
  reloaded: false,
  controls: [],
  states: [],
};

test('a model without sequences has no policy of sequences', () => {
  assert.equal(sequencePolicyOf(config('max_batch_size: 8 dynamic_batching { }'), true, false), undefined);
});

test('without a strategy it is direct, with a slot for each row', () => {
  const batching = sequencePolicyOf(config('max_batch_size: 8 sequence_batching { }'), true, false);
  assert.deepEqual(batching, { ...defaults, strategy: 'direct', slots: 8, maxBatchSize: 8 });
  const single = sequencePolicyOf(config('sequence_batching { }'), true, false);
  assert.deepEqual(single, { ...defaults, strategy: 'direct', slots: 1, maxBatchSize: 0 });
});

test('what is written of the direct strategy is passed on', () => {
  const text = `max_batch_size: 4 sequence_batching { direct { max_queue_delay_microseconds: 7 minimum_slot_utilization: 0.5 }
    max_sequence_idle_microseconds: 9 iterative_sequence: true }`;
  assert.deepEqual(sequencePolicyOf(config(text), true, true), {
    ...defaults,
    strategy: 'direct',
    slots: 4,
    maxBatchSize: 4,
    maxQueueDelayUs: 7,
    minimumSlotUtilization: 0.5,
    maxIdleUs: 9,
    iterative: true,
    reloaded: true,
  });
});

test('the oldest strategy has the candidates as slots, and a dynamic batcher', () => {
  const oldest = (text: string, rows = 8): ReturnType<typeof sequencePolicyOf> =>
    sequencePolicyOf(config(`max_batch_size: ${rows} sequence_batching { oldest { ${text} } }`), true, false);
  const dynamic = { maxBatchSize: 8, preferredBatchSizes: [8], maxQueueDelayUs: 0, acrossShapes: true };
  assert.deepEqual(oldest(''), { ...defaults, strategy: 'oldest', slots: 8, maxBatchSize: 8, dynamic });
  const whole =
    'max_candidate_sequences: 100 preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 5 preserve_ordering: true';
  assert.deepEqual(oldest(whole), {
    ...defaults,
    strategy: 'oldest',
    slots: 100,
    maxBatchSize: 8,
    dynamic: { maxBatchSize: 8, preferredBatchSizes: [2, 4], maxQueueDelayUs: 5, acrossShapes: false },
    preserveOrdering: true,
  });
  // Without a batch dimension requests run alone, of as many sequences as written.
  const single = oldest('max_candidate_sequences: 3', 0);
  assert.deepEqual(single, { ...defaults, strategy: 'oldest', slots: 3, maxBatchSize: 0 });
});

const tensors = `sequence_batching {
  control_input [
    { name: "a" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ -1, 7 ] } },
    { name: "b" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [ -0.5, 1.5 ] } },
    { name: "c" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [ true, false ] } },
    { name: "d" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } }
  ]
  state [
    { input_name: "s" output_name: "t" data_type: TYPE_FP16 dims: [ -1, 3 ] },
    { input_name: "u" output_name: "y" data_type: TYPE_FP32 dims: [ -1 ] use_same_buffer_for_input_output: true
      initial_state { name: "i" data_type: TYPE_FP32 dims: 2 zero_data: true } },
    { input_name: "u" output_name: "z" data_type: TYPE_FP32 dims: 5 }
  ]
}`;

test('states and controls follow the inputs, and outputs of states that are no outputs follow those', () => {
  const batching = config(`max_batch_size: 8 ${tensors}`);
  const { INT32, FP32, BOOL, BYTES, FP16 } = datatypeNumber;
  const firstBytes = new Uint8Array(8);
  const policy = sequencePolicyOf(batching, true, false, new Map([['u', firstBytes]]));
  assert.deepEqual(policy?.states, [
    { input: 1, output: 1, datatype: FP16, firstShape: [1, 1, 3], firstBytes: undefined, sameBuffer: false },
    { input: 2, output: 0, datatype: FP32, firstShape: [1, 2], firstBytes, sameBuffer: true },
  ]);
  assert.deepEqual(policy.controls, [
    { kind: 'start', input: 3, datatype: INT32, values: [-1, 7] },
    { kind: 'end', input: 4, datatype: FP32, values: [-0.5, 1.5] },
    { kind: 'ready', input: 5, datatype: BOOL, values: [1, 0] },
    { kind: 'id', input: 6, datatype: BYTES, values: [] },
  ]);
  const hidden = hiddenTensors(batching, undefined);
  assert.deepEqual(
    hidden.inputs.map(({ name, datatype, dims, internal }) => [name, datatype, dims, internal]),
    [
      ['s', FP16, [-1, -1, -1], true],
      ['u', FP32, [-1, 2], true],
      ['a', INT32, [-1, 1], true],
      ['b', FP32, [-1, 1], true],
      ['c', BOOL, [-1, 1], true],
      ['d', BYTES, [-1, 1], true],
    ],
  );
  assert.deepEqual(
    hidden.outputs.map(({ name, dims, internal }) => [name, dims, internal]),
    [['t', [-1, -1, -1], true]],
  );
});

test("without batches shapes have no batch dimension, and the model's own shapes count", () => {
  const single = config(tensors);
  assert.deepEqual(
    sequencePolicyOf(single, true, false)?.states.map(({ firstShape }) => firstShape),
    [[1, 3], [2]],
  );
  const facts = { datatype: 'FP16', typeName: 'tensor(float16)', optional: false, dimNames: [] } as const;
  const hidden = hiddenTensors(single, {
    inputs: [
      { ...facts, name: 's', shape: [-1, -1] },
      { ...facts, name: 'a', shape: [1] },
      { ...facts, name: 'u', shape: [] },
    ],
    outputs: [{ ...facts, name: 't', shape: [4, 3] }],
  });
  assert.deepEqual(
    hidden.inputs.slice(0, 3).map(({ dims }) => dims),
    [[-1, -1], [2], [1]],
  );
  assert.deepEqual(hidden.outputs[0]?.dims, [4, 3]);
});

test('batches of sequence models are never run again in halves', () => {
  const asked = 'parameters { key: "rerun_in_halves" value { string_value: "true" } }';
  assert.ok(rerunsInHalves(config(asked)) && codeRerunsInHalves(config(asked)));
  const sequences = config(`sequence_batching { } ${asked}`);
  assert.ok(!rerunsInHalves(sequences) && !codeRerunsInHalves(sequences));
});
