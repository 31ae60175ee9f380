/** Files of the right form with fields or values that are wrong. */

import { exchanged, withLine, type Faulty } from './faulty-base.js';

/** Fields that are unknown, misplaced or written twice. */
export const fields: readonly Faulty[] = [
  {
    what: 'a misspelt field',
    content: exchanged('max_batch_size', 'max_batchsize'),
    fault: { line: 3, field: 'max_batchsize', text: 'did you mean max_batch_size?' },
  },
  {
    what: 'a misspelt field further in',
    content: withLine('dynamic_batching {\n  max_queue_delay_microsecond: 100\n}'),
    fault: {
      line: 7,
      field: 'dynamic_batching.max_queue_delay_microsecond',
      text: 'did you mean max_queue_delay_microseconds?',
    },
  },
  {
    what: 'a field in the plural',
    content: exchanged('input [', 'inputs ['),
    fault: { line: 4, field: 'inputs', text: 'did you mean input?' },
  },
  {
    what: 'a field in the wrong place',
    content: withLine('preferred_batch_size: [ 4, 8 ]'),
    fault: { line: 6, field: 'preferred_batch_size', text: 'it belongs in dynamic_batching' },
  },
  {
    what: 'a field that no version of Triton has',
    content: withLine('temperature: 0.7'),
    fault: { line: 6, field: 'temperature', text: 'a model configuration has no such field' },
  },
  {
    what: 'a field that is written twice',
    content: withLine('max_batch_size: 16'),
    fault: { line: 6, field: 'max_batch_size', text: 'written twice (first on line 3)' },
  },
  {
    what: 'a message that is written twice',
    content: withLine('dynamic_batching { }\ndynamic_batching { max_queue_delay_microseconds: 1 }'),
    fault: { line: 7, field: 'dynamic_batching', text: 'written twice (first on line 6)' },
  },
  {
    what: 'two version policies',
    content: withLine('version_policy { all { } latest { num_versions: 1 } }'),
    fault: {
      line: 6,
      field: 'version_policy.latest',
      text: 'only one of all (line 6) and latest can be set',
    },
  },
  {
    what: 'two schedulers',
    content: withLine('dynamic_batching { }\nensemble_scheduling { }'),
    fault: {
      line: 7,
      field: 'ensemble_scheduling',
      text: 'only one of dynamic_batching (line 6) and ensemble_scheduling can be set',
    },
  },
  {
    what: "another model's name",
    content: withLine('name: "other"'),
    fault: { line: 6, field: 'name', text: `it must be that of the model's directory, "faulty"` },
  },
  {
    what: 'a parameter without a block',
    content: withLine('parameters { key: "a" value: "b" }'),
    fault: { line: 6, field: 'parameters["a"]', text: 'expected a block { … } but found "b"' },
  },
  {
    what: 'parameters as a map of JSON',
    content: withLine('parameters { intra_op_thread_count: "2" }'),
    fault: { line: 6, field: 'parameters[""]', text: 'an entry has a key and a value' },
  },
];

/** Values that a field does not take. */
export const values: readonly Faulty[] = [
  {
    what: 'a type of another library',
    content: exchanged('TYPE_FP32', 'TYPE_FLOAT'),
    fault: {
      line: 4,
      field: 'input[0].data_type',
      text: 'unknown value TYPE_FLOAT for DataType (did you mean TYPE_FP32?)',
    },
  },
  {
    what: 'a type of the protocol',
    content: exchanged('TYPE_FP32', 'FP32'),
    fault: {
      line: 4,
      field: 'input[0].data_type',
      text: 'unknown value FP32 for DataType (did you mean TYPE_FP32?)',
    },
  },
  {
    what: 'a type in small letters',
    content: exchanged('TYPE_FP32', 'type_fp32'),
    fault: { line: 4, field: 'input[0].data_type', text: 'did you mean TYPE_FP32?' },
  },
  {
    what: 'a type in quotes',
    content: exchanged('TYPE_FP32', '"TYPE_FP32"'),
    fault: { line: 4, field: 'input[0].data_type', text: 'without quotes' },
  },
  {
    what: 'a type by a number that has no name',
    content: exchanged('TYPE_FP32', '15'),
    fault: { line: 4, field: 'input[0].data_type', text: 'unknown value 15 for DataType' },
  },
  {
    what: 'a negative dim that is not -1',
    content: exchanged('dims: [ 16 ]', 'dims: [ -2 ]'),
    fault: { line: 4, field: 'input[0].dims', text: 'expected dims of 1 or more, or -1 (variable)' },
  },
  {
    what: 'a dim of 0',
    content: exchanged('dims: [ 16 ]', 'dims: [ 0 ]'),
    fault: { line: 4, field: 'input[0].dims', text: 'but found [0]' },
  },
  {
    what: 'dims without a number',
    content: exchanged('dims: [ 16 ]', 'dims: [ ]'),
    fault: { line: 4, field: 'input[0].dims', text: 'missing: write the shape of "x"' },
  },
  {
    what: 'a dim beyond 2^53',
    content: exchanged('dims: [ 16 ]', 'dims: [ 9223372036854775807 ]'),
    fault: { line: 4, field: 'input[0].dims[0]', text: 'between -(2^53 - 1) and 2^53 - 1' },
  },
  {
    what: 'a dim beyond 2^64',
    content: exchanged('dims: [ 16 ]', 'dims: [ 99999999999999999999 ]'),
    fault: { line: 4, field: 'input[0].dims[0]', text: 'expected an integer from -9223372036854775808' },
  },
  {
    what: 'a batch size beyond 2^31',
    content: exchanged('max_batch_size: 8', 'max_batch_size: 2147483648'),
    fault: { line: 3, field: 'max_batch_size', text: 'expected an integer from -2147483648 to 2147483647' },
  },
  {
    what: 'a negative batch size',
    content: exchanged('max_batch_size: 8', 'max_batch_size: -8'),
    fault: { line: 3, field: 'max_batch_size', text: 'expected 0 (no batching) or more but found -8' },
  },
  {
    what: 'a batch size with a point',
    content: exchanged('max_batch_size: 8', 'max_batch_size: 8.0'),
    fault: { line: 3, field: 'max_batch_size', text: 'expected an integer but found 8.0' },
  },
  {
    what: 'a batch size in quotes',
    content: exchanged('max_batch_size: 8', 'max_batch_size: "8"'),
    fault: { line: 3, field: 'max_batch_size', text: 'expected an integer but found "8"' },
  },
  {
    what: 'a list for one value',
    content: exchanged('max_batch_size: 8', 'max_batch_size: [ 8 ]'),
    fault: { line: 3, field: 'max_batch_size', text: 'takes one int32, not a list' },
  },
  {
    what: 'a negative delay',
    content: withLine('dynamic_batching { max_queue_delay_microseconds: -1 }'),
    fault: {
      line: 6,
      field: 'dynamic_batching.max_queue_delay_microseconds',
      text: 'expected an integer from 0',
    },
  },
  {
    what: 'a delay with its unit',
    content: withLine('dynamic_batching { max_queue_delay_microseconds: 100us }'),
    fault: {
      line: 6,
      field: 'dynamic_batching.max_queue_delay_microseconds',
      text: 'expected an integer but found 100us',
    },
  },
  {
    what: 'a block where a number belongs',
    content: exchanged('max_batch_size: 8', 'max_batch_size { value: 8 }'),
    fault: { line: 3, field: 'max_batch_size', text: 'expected int32 but found a block { … }' },
  },
  {
    what: 'a number where a block belongs',
    content: withLine('dynamic_batching: true'),
    fault: { line: 6, field: 'dynamic_batching', text: 'expected a block { … } but found true' },
  },
  {
    what: 'yes for a bool',
    content: withLine('response_cache { enable: yes }'),
    fault: { line: 6, field: 'response_cache.enable', text: 'expected true or false but found yes' },
  },
  {
    what: 'a preferred size of 0',
    content: withLine('dynamic_batching { preferred_batch_size: 0 }'),
    fault: { line: 6, field: 'dynamic_batching.preferred_batch_size[0]', text: 'but found 0' },
  },
  {
    what: 'two inputs of one name',
    content: withLine('input { name: "x" data_type: TYPE_FP32 dims: [ 16 ] }'),
    fault: { line: 6, field: 'input[1].name', text: 'input[0] is named "x" too' },
  },
];
