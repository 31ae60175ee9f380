/** A transformer encoder with the operators and sizes of a small sentence-embedding model, and random weights. */
import { float } from '../onnx/attribute.js';
import { graph, type Graph } from '../onnx/graph.js';
import { random, type Random } from '../onnx/random.js';

/** Sizes of {@link textEncoderModel}. */
export interface TextEncoderOptions {
  /** Default 6. */
  readonly layers?: number;
  /** Numbers a token; default 384. */
  readonly width?: number;
  /** Attention heads; `width` must be a multiple; default 6. */
  readonly heads?: number;
  /** Default 4,096. */
  readonly vocabulary?: number;
  /** Longest text; default 512. */
  readonly maxTokens?: number;
  /** Of the weights; default 1. */
  readonly seed?: number;
}

/**
 * input_ids, INT64 [N, T], to embedding, FP32 [N, width]: token and position embeddings, `layers` blocks of
 * self-attention and a feed-forward part of four times the width with GELU, layer norms, and the mean over the
 * tokens. There is no attention mask: every id counts. With the defaults 50 MB.
 */
export function textEncoderModel(options: TextEncoderOptions = {}): Uint8Array {
  const { layers = 6, width = 384, heads = 6, vocabulary = 4096, maxTokens = 512, seed = 1 } = options;
  if (width % heads !== 0) throw new Error(`width ${width} is no multiple of ${heads} heads`);
  const numbers = random(seed);
  const model = graph('text_encoder').input('input_ids', 'INT64', ['N', 'T']);
  addConstants(model, width, heads);
  addEmbeddings(model, numbers, { width, vocabulary, maxTokens });
  let current = 'embedded';
  for (let i = 0; i < layers; i += 1) {
    current = addFeedForward(
      model,
      numbers,
      width,
      `layer${i}.`,
      addAttention(model, numbers, width, `layer${i}.`, current),
    );
  }
  return model
    .node('ReduceMean', [current], ['embedding'], { axes: [1], keepdims: 0 })
    .output('embedding', 'FP32', ['N', width])
    .encode();
}

function addConstants(model: Graph, width: number, heads: number): void {
  const headWidth = width / heads;
  model
    .initializer('zero', 'INT64', [1], [0])
    .initializer('one', 'INT64', [1], [1])
    .initializer('two', 'INT64', [1], [2])
    // In a Reshape, 0 keeps the dimension and -1 is worked out.
    .initializer('split_heads', 'INT64', [4], [0, 0, heads, headWidth])
    .initializer('join_heads', 'INT64', [3], [0, 0, width])
    .initializer('scale', 'FP32', [1], [1 / Math.sqrt(headWidth)])
    .initializer('half', 'FP32', [1], [0.5])
    .initializer('unit', 'FP32', [1], [1])
    .initializer('sqrt_two', 'FP32', [1], [Math.SQRT2]);
}

function addEmbeddings(
  model: Graph,
  numbers: Random,
  sizes: { readonly width: number; readonly vocabulary: number; readonly maxTokens: number },
): void {
  const { width, vocabulary, maxTokens } = sizes;
  model
    .initializer('tokens', 'FP32', [vocabulary, width], numbers.floats(vocabulary * width, 1))
    .initializer('positions', 'FP32', [maxTokens, width], numbers.floats(maxTokens * width, 1))
    .node('Gather', ['tokens', 'input_ids'], ['token_rows'])
    .node('Shape', ['input_ids'], ['ids_shape'])
    .node('Slice', ['ids_shape', 'one', 'two'], ['length'])
    .node('Slice', ['positions', 'zero', 'length'], ['position_rows'])
    .node('Add', ['token_rows', 'position_rows'], ['embedding_sum']);
  addLayerNorm(model, width, 'embedded', 'embedding_sum');
}

/** Self-attention with its residual and norm; returns the name of its output. */
function addAttention(model: Graph, numbers: Random, width: number, prefix: string, input: string): string {
  const name = (part: string): string => prefix + part;
  const permutations = { query: [0, 2, 1, 3], key: [0, 2, 3, 1], value: [0, 2, 1, 3] };
  for (const [part, perm] of Object.entries(permutations)) {
    addDense(model, numbers, [width, width], name(part), input);
    model
      .node('Reshape', [name(part), 'split_heads'], [name(`${part}_split`)])
      .node('Transpose', [name(`${part}_split`)], [name(`${part}_heads`)], { perm });
  }
  model
    .node('MatMul', [name('query_heads'), name('key_heads')], [name('products')])
    .node('Mul', [name('products'), 'scale'], [name('scaled')])
    .node('Softmax', [name('scaled')], [name('attention')], { axis: -1 })
    .node('MatMul', [name('attention'), name('value_heads')], [name('context_heads')])
    .node('Transpose', [name('context_heads')], [name('context_split')], { perm: [0, 2, 1, 3] })
    .node('Reshape', [name('context_split'), 'join_heads'], [name('context')]);
  addDense(model, numbers, [width, width], name('attended'), name('context'));
  model.node('Add', [name('attended'), input], [name('attended_sum')]);
  return addLayerNorm(model, width, name('attention_out'), name('attended_sum'));
}

/**
 * Two dense layers with GELU between them, residual and norm; returns the name of its output. The model has the
 * constants `sqrt_two`, `unit` and `half`.
 */
export function addFeedForward(
  model: Graph,
  numbers: Random,
  width: number,
  prefix: string,
  input: string,
): string {
  const name = (part: string): string => prefix + part;
  addDense(model, numbers, [width, 4 * width], name('wide'), input);
  model
    .node('Div', [name('wide'), 'sqrt_two'], [name('gelu_divided')])
    .node('Erf', [name('gelu_divided')], [name('gelu_erf')])
    .node('Add', [name('gelu_erf'), 'unit'], [name('gelu_shifted')])
    .node('Mul', [name('wide'), name('gelu_shifted')], [name('gelu_doubled')])
    .node('Mul', [name('gelu_doubled'), 'half'], [name('gelu')]);
  addDense(model, numbers, [4 * width, width], name('narrow'), name('gelu'));
  model.node('Add', [name('narrow'), input], [name('narrow_sum')]);
  return addLayerNorm(model, width, name('out'), name('narrow_sum'));
}

/** A dense layer over the last dimension. */
export function addDense(
  model: Graph,
  numbers: Random,
  [inputs, outputs]: readonly [number, number],
  output: string,
  input: string,
): void {
  model
    .initializer(
      `${output}.w`,
      'FP32',
      [inputs, outputs],
      numbers.floats(inputs * outputs, Math.sqrt(3 / inputs)),
    )
    .initializer(`${output}.b`, 'FP32', [outputs], numbers.floats(outputs, 0.1))
    .node('MatMul', [input, `${output}.w`], [`${output}.product`])
    .node('Add', [`${output}.product`, `${output}.b`], [output]);
}

/** A layer norm over the last dimension; returns the name of its output. */
export function addLayerNorm(model: Graph, width: number, output: string, input: string): string {
  model
    .initializer(`${output}.scale`, 'FP32', [width], new Float32Array(width).fill(1))
    .initializer(`${output}.shift`, 'FP32', [width], new Float32Array(width))
    .node('LayerNormalization', [input, `${output}.scale`, `${output}.shift`], [output], {
      axis: -1,
      epsilon: float(1e-5),
    });
  return output;
}
