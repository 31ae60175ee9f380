/** Models with states and controls, for tests of sequences. */

import type { Datatype } from '../../../src/tensor/datatype.js';
import { graph, type Dim } from '../onnx/graph.js';
import { elementType } from '../onnx/tensor.js';

/** The batch dimension of a model that batches; none otherwise. */
const rows = (batches: boolean): readonly Dim[] => (batches ? ['N'] : []);

/** Adds up x of two values: the input sum and the output next are its state. The output y is the sum, too. */
export function runningSum(batches: boolean, width: number = 2): Uint8Array {
  const dims = [...rows(batches), width];
  return graph('sum')
    .input('x', 'FP32', dims)
    .input('sum', 'FP32', dims)
    .node('Add', ['x', 'sum'], ['y'])
    .node('Identity', ['y'], ['next'])
    .output('y', 'FP32', dims)
    .output('next', 'FP32', dims)
    .encode();
}

/** Appends its input x of one element to the input past; the output y is both. The state has one more element each time. */
export function growing(batches: boolean, datatype: Datatype): Uint8Array {
  return graph('growing')
    .input('x', datatype, [...rows(batches), 1])
    .input('past', datatype, [...rows(batches), 'M'])
    .node('Concat', ['past', 'x'], ['y'], { axis: batches ? 1 : 0 })
    .output('y', datatype, [...rows(batches), 'M1'])
    .encode();
}

/** Has the last three elements as its state: the input past and the output y. */
export function lastThree(batches: boolean, datatype: Datatype): Uint8Array {
  const axis = batches ? 1 : 0;
  return graph('last_three')
    .input('x', datatype, [...rows(batches), 1])
    .input('past', datatype, [...rows(batches), 3])
    .initializer('from', 'INT64', [1], [1])
    .initializer('to', 'INT64', [1], [3])
    .initializer('axis', 'INT64', [1], [axis])
    .node('Slice', ['past', 'from', 'to', 'axis'], ['later'])
    .node('Concat', ['later', 'x'], ['y'], { axis })
    .output('y', datatype, [...rows(batches), 3])
    .encode();
}

/** Answers with its control tensors start, end and ready of one type, as FP32. */
export function tellsControls(datatype: Datatype): Uint8Array {
  const model = graph('controls').input('x', 'FP32', ['N', 1]);
  const names = ['start', 'end', 'ready'];
  for (const name of names) {
    model.input(name, datatype, ['N', 1]).node('Cast', [name], [`${name}_number`], { to: elementType.FP32 });
  }
  return model
    .node('Concat', ['x', ...names.map((name) => `${name}_number`)], ['y'], { axis: 1 })
    .output('y', 'FP32', ['N', 4])
    .encode();
}

/** Answers with the id of the sequence, which it receives as a tensor. */
export function tellsId(batches: boolean, datatype: Datatype): Uint8Array {
  const dims = [...rows(batches), 1];
  return graph('id')
    .input('x', 'FP32', dims)
    .input('id', datatype, dims)
    .node('Identity', ['id'], ['y'])
    .output('y', datatype, dims)
    .encode();
}

/** {@link runningSum} for batches, which fails if the first value of x is 100 or more. */
export function failingSum(): Uint8Array {
  const dims = ['N', 2];
  return (
    graph('failing_sum')
      .input('x', 'FP32', dims)
      .input('sum', 'FP32', dims)
      .initializer('table', 'FP32', [100], new Uint8Array(400))
      .node('Cast', ['x'], ['row'], { to: elementType.INT64 })
      // A row that the table does not have is an error.
      .node('Gather', ['table', 'row'], ['zero'])
      .node('Add', ['x', 'sum'], ['added'])
      .node('Add', ['added', 'zero'], ['y'])
      .node('Identity', ['y'], ['next'])
      .output('y', 'FP32', dims)
      .output('next', 'FP32', dims)
      .encode()
  );
}
