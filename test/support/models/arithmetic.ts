/** Models of one or two operators whose answers a test can work out by hand. */
import type { Datatype } from '../../../src/tensor/datatype.js';
import { graph, type Dim } from '../onnx/graph.js';
import type { TensorValues } from '../onnx/tensor.js';

/** A dimension list as tests write it: a size, or a name for a symbolic dimension. */
export type Dims = readonly Dim[];

/** Options of {@link addModel}. */
export interface AddOptions {
  /** Whether the first dimension is the symbolic batch; default true. */
  readonly batch?: boolean;
  /** Elements of a row; default 16. */
  /** A name makes the dim variable. */
  readonly width?: number | string;
  /** Any datatype but BOOL, BYTES and BF16, which the runtime does not add on a CPU; default FP32. */
  readonly datatype?: Datatype;
  /** The number to add (default 1). FP16 supports only 1. */
  readonly addend?: number;
}

/** y = x + addend: input x and output y, [N, width], or [width] without a batch dimension. */
export function addModel(options: AddOptions = {}): Uint8Array {
  const { batch = true, width = 16, datatype = 'FP32', addend = 1 } = options;
  const dims = batch ? ['N', width] : [width];
  return graph('add')
    .input('x', datatype, dims)
    .initializer('addend', datatype, [1], scalar(datatype, addend))
    .node('Add', ['x', 'addend'], ['y'])
    .output('y', datatype, dims)
    .encode();
}

/** y = x, for every datatype: `dims` are those of input x and of output y, the batch dimension included. */
export function identityModel(datatype: Datatype, dims: Dims = ['N', 16]): Uint8Array {
  return graph('identity')
    .input('x', datatype, dims)
    .node('Identity', ['x'], ['y'])
    .output('y', datatype, dims)
    .encode();
}

/** sum = a + b and difference = a - b, all [N, width]; the order is that of the operators, not of the alphabet. */
export function sumAndDifferenceModel(datatype: Datatype = 'FP32', width = 16): Uint8Array {
  const dims = ['N', width];
  return graph('sum_and_difference')
    .input('a', datatype, dims)
    .input('b', datatype, dims)
    .node('Add', ['a', 'b'], ['sum'])
    .node('Sub', ['a', 'b'], ['difference'])
    .output('sum', datatype, dims)
    .output('difference', datatype, dims)
    .encode();
}

/** y = x + 1 with a batch dimension that is fixed: FP32 [batch, width]. */
export function fixedBatchModel(batch = 4, width = 16): Uint8Array {
  return graph('fixed_batch')
    .input('x', 'FP32', [batch, width])
    .initializer('addend', 'FP32', [1], [1])
    .node('Add', ['x', 'addend'], ['y'])
    .output('y', 'FP32', [batch, width])
    .encode();
}

/** total = the sum of each row of ids as a float: INT64 [N, T] to FP32 [N, 1]. */
export function rowSumModel(): Uint8Array {
  return graph('row_sum')
    .input('ids', 'INT64', ['N', 'T'])
    .initializer('axis', 'INT64', [1], [1])
    .node('ReduceSum', ['ids', 'axis'], ['sum'], { keepdims: 1 })
    .node('Cast', ['sum'], ['total'], { to: 1 })
    .output('total', 'FP32', ['N', 1])
    .encode();
}

/** y = x + bias, where input bias (FP32 [1]) may be left out and is 100 then. */
export function optionalInputModel(): Uint8Array {
  return graph('optional_input')
    .input('x', 'FP32', ['N', 4])
    .input('bias', 'FP32', [1])
    .initializer('bias', 'FP32', [1], [100])
    .node('Add', ['x', 'bias'], ['y'])
    .output('y', 'FP32', ['N', 4])
    .encode();
}

function scalar(datatype: Datatype, value: number): TensorValues {
  if (datatype !== 'FP16') return [value];
  if (value !== 1) throw new Error(`the addend of an FP16 model is 1, not ${value}`);
  return Uint16Array.of(0x3c00);
}
