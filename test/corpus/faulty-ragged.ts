/** Files with faults in `allow_ragged_batch`, `batch_input` and `batch_output`. */

import { exchanged, withLine, type Faulty } from './faulty-base.js';

const made = (text: string): string => withLine(`batch_input { ${text} }`);
const split = (text: string): string => withLine(`batch_output { ${text} }`);
const offsets = 'target_name: "offsets" data_type: TYPE_INT32';

/** The files. */
export const ragged: readonly Faulty[] = [
  {
    what: 'a batch input without a source',
    content: made(offsets),
    fault: { line: 6, field: 'batch_input[0].source_input', text: 'expected one name but found 0' },
  },
  {
    what: 'a batch input with two sources',
    content: made(`${offsets} source_input: [ "x", "x" ]`),
    fault: { line: 6, field: 'batch_input[0].source_input', text: 'expected one name but found 2' },
  },
  {
    what: 'a batch input from an unknown source',
    content: made(`${offsets} source_input: "X"`),
    fault: { line: 6, field: 'batch_input[0].source_input', text: '"X" is not a declared input' },
  },
  {
    what: 'a batch input of another type',
    content: made('target_name: "offsets" data_type: TYPE_INT64 source_input: "x"'),
    fault: {
      line: 6,
      field: 'batch_input[0].data_type',
      text: 'expected TYPE_INT32 or TYPE_FP32 but found TYPE_INT64',
    },
  },
  {
    what: 'a batch input without a type',
    content: made('target_name: "offsets" source_input: "x"'),
    fault: { line: 6, field: 'batch_input[0].data_type', text: 'but found TYPE_INVALID' },
  },
  {
    what: 'a batch input of an unknown kind',
    content: made(`kind: BATCH_SHAPE ${offsets} source_input: "x"`),
    fault: { line: 6, field: 'batch_input[0].kind', text: 'unknown value BATCH_SHAPE' },
  },
  {
    what: 'a batch input that callers send, too',
    content: made('target_name: "x" data_type: TYPE_INT32 source_input: "x"'),
    fault: {
      line: 6,
      field: 'batch_input[0].target_name[0]',
      text: '"x" is sent by callers, because input[0] declares it',
    },
  },
  {
    what: 'a batch input that is made twice',
    content: made(`${offsets} target_name: "offsets" source_input: "x"`),
    fault: {
      line: 6,
      field: 'batch_input[0].target_name[1]',
      text: '"offsets" is made by batch_input[0].target_name[0] too',
    },
  },
  {
    what: 'a batch input that the model lacks',
    content: made(`${offsets} source_input: "x"`),
    fault: {
      line: 6,
      field: 'batch_input[0].target_name[0]',
      text: 'the model has no input "offsets"; its inputs are x',
    },
  },
  {
    what: 'a ragged input that has rows in the model',
    content: exchanged('dims: [ 16 ] } ]', 'dims: [ -1 ] allow_ragged_batch: true } ]'),
    fault: {
      line: 4,
      field: 'input[0].allow_ragged_batch',
      text: "the model's input must have one dimension to be ragged, but its shape is [-1,16]",
    },
  },
  {
    what: 'a batch output without a source',
    content: split('target_name: "y"'),
    fault: { line: 6, field: 'batch_output[0].source_input', text: 'expected one name but found 0' },
  },
  {
    what: 'a batch output from an unknown source',
    content: split('target_name: "y" source_input: "y"'),
    fault: { line: 6, field: 'batch_output[0].source_input', text: '"y" is not a declared input' },
  },
  {
    what: 'a batch output that is no output',
    content: split('target_name: "z" source_input: "x"'),
    fault: { line: 6, field: 'batch_output[0].target_name[0]', text: '"z" is not a declared output' },
  },
  {
    what: 'a batch output that is listed twice',
    content: split('target_name: [ "y", "y" ] source_input: "x"'),
    fault: { line: 6, field: 'batch_output[0].target_name[1]', text: '"y" is listed twice' },
  },
  {
    what: 'a batch output with more dims than its source',
    content: split('target_name: "y" source_input: "x"').replace(
      '"y" data_type: TYPE_FP32 dims: [ 16 ]',
      '"y" data_type: TYPE_FP32 dims: [ 16, -1 ]',
    ),
    fault: {
      line: 6,
      field: 'batch_output[0].target_name[0]',
      text: '"y" has the shape [-1,16,-1], with the batch, and takes its variable dims from the same places of "x", which has only [-1,16]',
    },
  },
];
