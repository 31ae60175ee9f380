/** A multi-layer perceptron: the model that gains most from batching, since a run of one row only reads weights. */
import { graph } from '../onnx/graph.js';
import { random } from '../onnx/random.js';

/** Weights of one dense layer: y = x W + b. */
export interface DenseLayer {
  readonly inputs: number;
  readonly outputs: number;
  /** [inputs, outputs], row by row. */
  readonly weights: Float32Array;
  readonly bias: Float32Array;
}

/** Layer widths of {@link mlpModel} where none are given. */
export const mlpWidths: readonly number[] = [512, 2048, 2048, 512];

/** The layers of the perceptron with these widths; the weights depend on the widths and the seed only. */
export function mlpLayers(widths: readonly number[] = mlpWidths, seed = 1): DenseLayer[] {
  const numbers = random(seed);
  const layers: DenseLayer[] = [];
  for (const [i, outputs] of widths.slice(1).entries()) {
    const inputs = widths[i] ?? 0;
    // Uniform with this limit keeps the size of activations from layer to layer where half of them are cut to zero.
    const weights = numbers.floats(inputs * outputs, Math.sqrt(6 / inputs));
    layers.push({ inputs, outputs, weights, bias: numbers.floats(outputs, 0.1) });
  }
  return layers;
}

/**
 * x to y through dense layers with Relu between them: FP32 [N, first width] to [N, last width].
 * @param widths - Default 512, 2048, 2048, 512: 25 MB, about 0.5 ms for one row.
 * @param seed - Of the weights; default 1.
 */
export function mlpModel(widths: readonly number[] = mlpWidths, seed = 1): Uint8Array {
  const layers = mlpLayers(widths, seed);
  const model = graph('mlp').input('x', 'FP32', ['N', widths[0] ?? 0]);
  let current = 'x';
  for (const [i, layer] of layers.entries()) {
    const last = i === layers.length - 1;
    const dense = last ? 'y' : `dense${i}`;
    model
      .initializer(`w${i}`, 'FP32', [layer.inputs, layer.outputs], layer.weights)
      .initializer(`b${i}`, 'FP32', [layer.outputs], layer.bias)
      .node('Gemm', [current, `w${i}`, `b${i}`], [dense]);
    if (!last) model.node('Relu', [dense], [`hidden${i}`]);
    current = `hidden${i}`;
  }
  return model.output('y', 'FP32', ['N', widths.at(-1) ?? 0]).encode();
}
