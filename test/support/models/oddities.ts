/** Models that fail, take long, or have unusual outputs. */
import { graph, type ExternalModel } from '../onnx/graph.js';
import { random } from '../onnx/random.js';

/** Rows of {@link failingModel}'s table. */
export const tableRows = 8;

/**
 * value = 10 * index: INT64 index [N, 1] to FP32 value [N, 1], looked up in a table of eight rows. The run of a
 * whole batch fails where one index is 8 or more.
 */
export function failingModel(): Uint8Array {
  const table = Array.from({ length: tableRows }, (_, row) => 10 * row);
  return graph('failing')
    .input('index', 'INT64', ['N', 1])
    .initializer('table', 'FP32', [tableRows], table)
    .node('Gather', ['table', 'index'], ['value'])
    .output('value', 'FP32', ['N', 1])
    .encode();
}

/** Side of the square matrices that {@link slowModel} multiplies. */
const slowSide = 32;

/**
 * y = x, after `iterations` products of small matrices in a loop: FP32 [N, 16]. One iteration takes about 1.7
 * microseconds on one core, whatever the batch size and the number of threads, and a running loop heeds the
 * runtime's terminate flag.
 * @param iterations - Default 120,000: about 200 ms.
 */
export function slowModel(iterations = 120_000): Uint8Array {
  const identity = new Float32Array(slowSide * slowSide);
  for (let i = 0; i < slowSide; i += 1) identity[i * (slowSide + 1)] = 1;
  // The product of two identity matrices is one, too. So the answer stays exact, however long the loop runs.
  const body = graph('body')
    .input('iteration', 'INT64', [])
    .input('go_on', 'BOOL', [])
    .input('power', 'FP32', [slowSide, slowSide])
    .node('Identity', ['go_on'], ['go_on_after'])
    .node('MatMul', ['power', 'unit'], ['power_after'])
    .output('go_on_after', 'BOOL', [])
    .output('power_after', 'FP32', [slowSide, slowSide]);
  return graph('slow')
    .input('x', 'FP32', ['N', 16])
    .initializer('iterations', 'INT64', [], [iterations])
    .initializer('always', 'BOOL', [], [true])
    .initializer('unit', 'FP32', [slowSide, slowSide], identity)
    .initializer('corner', 'INT64', [2], [0, 0])
    .node('Loop', ['iterations', 'always', 'unit'], ['power_end'], { body })
    .node('GatherND', ['power_end', 'corner'], ['factor'])
    .node('Mul', ['x', 'factor'], ['y'])
    .output('y', 'FP32', ['N', 16])
    .encode();
}

/**
 * The places of x's elements that are not 0, like a detector's findings: FP32 x [batch, 3] to INT64 dets [num_dets,
 * 2]. Each row of dets is a row and a column of x.
 * @param rows - The name of the outputs' first dimension in the file; default `num_dets`.
 */
export function detectionModel(rows = 'num_dets'): Uint8Array {
  return graph('detection')
    .input('x', 'FP32', ['batch', 3])
    .node('NonZero', ['x'], ['columns'])
    .node('Transpose', ['columns'], ['dets'], { perm: [1, 0] })
    .output('dets', 'INT64', [rows, 2])
    .encode();
}

/**
 * A model with output label = x, and a sequence of x. By default a classifier's probabilities are such a
 * sequence: FP32 [N, 16].
 *
 * @param labelled - Whether there is the label, or only the sequence.
 */
export function sequenceModel(labelled = true): Uint8Array {
  const model = graph('sequence')
    .input('x', 'FP32', ['N', 16])
    .node('SequenceConstruct', ['x'], ['probabilities'])
    .sequenceOutput('probabilities', 'FP32');
  if (labelled) model.node('Identity', ['x'], ['label']).output('label', 'FP32', ['N', 16]);
  return model.encode();
}

/**
 * A model y = x, after a loop with as many rounds as the largest element of x: INT64 [N, 1]. A million rounds
 * take some seconds, and one takes some microseconds.
 */
export function roundsModel(): Uint8Array {
  const body = graph('body')
    .input('iteration', 'INT64', [])
    .input('go_on', 'BOOL', [])
    .input('sum', 'INT64', [])
    .node('Identity', ['go_on'], ['go_on_after'])
    .node('Add', ['sum', 'iteration'], ['sum_after'])
    .output('go_on_after', 'BOOL', [])
    .output('sum_after', 'INT64', []);
  return graph('rounds')
    .input('x', 'INT64', ['N', 1])
    .initializer('always', 'BOOL', [], [true])
    .initializer('zero', 'INT64', [], [0])
    .node('ReduceMax', ['x'], ['rounds'], { keepdims: 0 })
    .node('Loop', ['rounds', 'always', 'zero'], ['sum'], { body })
    .node('Mul', ['sum', 'zero'], ['nothing'])
    .node('Add', ['x', 'nothing'], ['y'])
    .output('y', 'INT64', ['N', 1])
    .encode();
}

/**
 * A model y = x, after a product of square matrices whose side is the largest element of x: INT64 [N, 1]. No
 * operator shows that its time depends on the data.
 */
export function squaresModel(): Uint8Array {
  return graph('squares')
    .input('x', 'INT64', ['N', 1])
    .initializer('flat', 'INT64', [1], [-1])
    .initializer('zero', 'FP32', [1, 1], [0])
    .node('ReduceMax', ['x'], ['largest'], { keepdims: 0 })
    .node('Reshape', ['largest', 'flat'], ['side'])
    .node('Concat', ['side', 'side'], ['shape'], { axis: 0 })
    .node('Expand', ['zero', 'shape'], ['square'])
    .node('MatMul', ['square', 'square'], ['product'])
    .node('ReduceSum', ['product'], ['sum'], { keepdims: 0 })
    .node('Cast', ['sum'], ['nothing'], { to: 7 })
    .node('Add', ['x', 'nothing'], ['y'])
    .output('y', 'INT64', ['N', 1])
    .encode();
}

/** y[n, i] = x[n] + i: FP32 [N, 1] to [N, width]. @param width - Default 160,000: 640,000 bytes a row. */
export function largeOutputModel(width = 160_000): Uint8Array {
  return graph('large_output')
    .input('x', 'FP32', ['N', 1])
    .initializer(
      'ramp',
      'FP32',
      [width],
      Float32Array.from({ length: width }, (_, i) => i),
    )
    .node('Add', ['x', 'ramp'], ['y'])
    .output('y', 'FP32', ['N', width])
    .encode();
}

/** A well-formed file that no runtime loads: its operator does not exist. */
export function unsupportedOperatorModel(): Uint8Array {
  return graph('unsupported_operator')
    .input('x', 'FP32', ['N', 16])
    .node('NoSuchOperator', ['x'], ['y'])
    .output('y', 'FP32', ['N', 16])
    .encode();
}

/** Values in {@link externalDataModel}'s data file, in order. */
export function externalWeights(): Float32Array {
  return random(7).floats(512, 1);
}

/**
 * y = x + {@link externalWeights}: FP32 [N, 512], with the weights in a data file.
 * @param location - Name of the data file; default `model.onnx.data`.
 */
export function externalDataModel(location = 'model.onnx.data'): ExternalModel {
  return graph('external_data')
    .input('x', 'FP32', ['N', 512])
    .initializer('weights', 'FP32', [512], externalWeights())
    .node('Add', ['x', 'weights'], ['y'])
    .output('y', 'FP32', ['N', 512])
    .encodeExternal(location);
}
