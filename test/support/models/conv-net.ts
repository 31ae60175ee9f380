/** A convolutional image classifier with the structure of ResNet-18, and random weights. */
import { graph, type Graph } from '../onnx/graph.js';
import { random, type Random } from '../onnx/random.js';

/** Sizes of {@link convNetModel}. */
export interface ConvNetOptions {
  /**
   * Channels of the first stage, doubled at each of the next three; ResNet-18 has 64. Default 32: about 4 ms on two
   * cores.
   */
  readonly width?: number;
  /** Height and width of the image; default 224. */
  readonly size?: number;
  /** Default 1,000. */
  readonly classes?: number;
  /** Of the weights; default 1. */
  readonly seed?: number;
}

/**
 * image, FP32 [N, 3, size, size], to logits, FP32 [N, classes]: a 7 x 7 convolution with stride 2, max-pooling,
 * four stages of two residual blocks, the mean over the image, a dense layer. Batch norms are taken as folded into
 * the convolutions, as an exporter leaves them.
 */
export function convNetModel(options: ConvNetOptions = {}): Uint8Array {
  const { width = 32, size = 224, classes = 1000, seed = 1 } = options;
  const numbers = random(seed);
  const model = graph('conv_net').input('image', 'FP32', ['N', 3, size, size]);
  addConv(model, numbers, { input: 'image', output: 'stem', channels: [3, width], kernel: 7, stride: 2 });
  model.node('Relu', ['stem'], ['stem_relu']).node('MaxPool', ['stem_relu'], ['pooled'], {
    kernel_shape: [3, 3],
    strides: [2, 2],
    pads: [1, 1, 1, 1],
  });
  let current = 'pooled';
  let channels = width;
  for (let stage = 0; stage < 4; stage += 1) {
    const out = width * 2 ** stage;
    const stride = stage === 0 ? 1 : 2;
    current = addBlock(model, numbers, {
      name: `stage${stage}a`,
      input: current,
      channels: [channels, out],
      stride,
    });
    current = addBlock(model, numbers, {
      name: `stage${stage}b`,
      input: current,
      channels: [out, out],
      stride: 1,
    });
    channels = out;
  }
  return model
    .initializer(
      'classifier.w',
      'FP32',
      [channels, classes],
      numbers.floats(channels * classes, Math.sqrt(3 / channels)),
    )
    .initializer('classifier.b', 'FP32', [classes], numbers.floats(classes, 0.1))
    .node('GlobalAveragePool', [current], ['mean'])
    .node('Flatten', ['mean'], ['features'])
    .node('Gemm', ['features', 'classifier.w', 'classifier.b'], ['logits'])
    .output('logits', 'FP32', ['N', classes])
    .encode();
}

interface Block {
  readonly name: string;
  readonly input: string;
  /** In and out. */
  readonly channels: readonly [number, number];
  readonly stride: number;
}

/** Two 3 x 3 convolutions and a way around them, through a 1 x 1 convolution where the sizes differ. */
function addBlock(model: Graph, numbers: Random, { name, input, channels, stride }: Block): string {
  const out = channels[1];
  addConv(model, numbers, { input, output: `${name}.first`, channels, kernel: 3, stride });
  model.node('Relu', [`${name}.first`], [`${name}.middle`]);
  addConv(model, numbers, {
    input: `${name}.middle`,
    output: `${name}.second`,
    channels: [out, out],
    kernel: 3,
    stride: 1,
  });
  let around = input;
  if (stride !== 1 || channels[0] !== out) {
    around = `${name}.around`;
    addConv(model, numbers, { input, output: around, channels, kernel: 1, stride });
  }
  model.node('Add', [`${name}.second`, around], [`${name}.sum`]).node('Relu', [`${name}.sum`], [name]);
  return name;
}

interface Conv {
  readonly input: string;
  readonly output: string;
  /** In and out. */
  readonly channels: readonly [number, number];
  readonly kernel: number;
  readonly stride: number;
}

function addConv(model: Graph, numbers: Random, { input, output, channels, kernel, stride }: Conv): void {
  const [from, to] = channels;
  const fanIn = from * kernel * kernel;
  const pad = (kernel - 1) / 2;
  model
    .initializer(
      `${output}.w`,
      'FP32',
      [to, from, kernel, kernel],
      numbers.floats(to * fanIn, Math.sqrt(3 / fanIn)),
    )
    .initializer(`${output}.b`, 'FP32', [to], numbers.floats(to, 0.1))
    .node('Conv', [input, `${output}.w`, `${output}.b`], [output], {
      kernel_shape: [kernel, kernel],
      strides: [stride, stride],
      pads: [pad, pad, pad, pad],
    });
}
