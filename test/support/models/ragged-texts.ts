/**
 * A transformer encoder for texts of unequal length, in two forms with the same weights: one for texts that lie one
 * after the other in one dimension, and one for texts that are padded to one length.
 */
import { graph, type Graph } from '../onnx/graph.js';
import { random, type Random } from '../onnx/random.js';
import { addDense, addFeedForward, addLayerNorm } from './text-encoder.js';

/** Sizes of the models. */
export interface TextsOptions {
  /** Default 2. */
  readonly layers?: number;
  /** Numbers a token; default 64. */
  readonly width?: number;
  /** Attention heads; `width` must be a multiple; default 4. */
  readonly heads?: number;
  /** Default 512; id 0 is padding. */
  readonly vocabulary?: number;
  /** Longest text; default 128. */
  readonly maxTokens?: number;
}

type Sizes = Required<TextsOptions>;

const defaults: Sizes = { layers: 2, width: 64, heads: 4, vocabulary: 512, maxTokens: 128 };
/** Added to the scores of tokens that a token must not see. */
const hidden = -1e9;

/**
 * input_ids, INT64 [T], the tokens of all texts, and offsets, INT32 [N + 1], where each text begins and the last
 * one ends, to embedding, FP32 [N, width]. A token sees the tokens of its own text.
 */
export function raggedTextsModel(options: TextsOptions = {}): Uint8Array {
  const sizes = { ...defaults, ...options };
  const model = graph('ragged_texts').input('input_ids', 'INT64', ['T']).input('offsets', 'INT32', ['M']);
  addConstants(model, sizes);
  model
    .initializer('from_start', 'INT64', [1], [0])
    .initializer('from_second', 'INT64', [1], [1])
    .initializer('to_last', 'INT64', [1], [-1])
    .initializer('to_end', 'INT64', [1], [Number.MAX_SAFE_INTEGER])
    .initializer('first', 'INT64', [], [0])
    .initializer('step', 'INT64', [], [1])
    .node('Cast', ['offsets'], ['ends_and_zero'], { to: int64 })
    .node('Slice', ['ends_and_zero', 'from_start', 'to_last'], ['starts'])
    .node('Slice', ['ends_and_zero', 'from_second', 'to_end'], ['ends'])
    .node('Size', ['input_ids'], ['tokens_in_all'])
    .node('Range', ['first', 'tokens_in_all', 'step'], ['places'])
    .node('Size', ['ends'], ['texts_in_all'])
    .node('Range', ['first', 'texts_in_all', 'step'], ['texts'])
    // The number of a token's text is the number of texts that end before the token.
    .node('Unsqueeze', ['places', 'axis_1'], ['places_down'])
    .node('GreaterOrEqual', ['places_down', 'ends'], ['is_past'])
    .node('Cast', ['is_past'], ['past'], { to: int64 })
    .node('ReduceSum', ['past', 'axis_1'], ['text'], { keepdims: 0 })
    .node('Gather', ['starts', 'text'], ['start'])
    .node('Sub', ['places', 'start'], ['position_ids'])
    .node('Unsqueeze', ['text', 'axis_1'], ['text_down'])
    .node('Equal', ['text_down', 'text'], ['sees'])
    .node('Where', ['sees', 'seen', 'hidden'], ['mask'])
    .node('Unsqueeze', ['texts', 'axis_1'], ['texts_down'])
    .node('Equal', ['texts_down', 'text'], ['has'])
    .node('Cast', ['has'], ['weights'], { to: float32 });
  const last = addLayers(model, sizes, {
    split: [0, sizes.heads],
    join: [0],
    queries: [1, 0, 2],
    keys: [1, 2, 0],
  });
  return model
    .node('MatMul', ['weights', last], ['sums'])
    .node('ReduceSum', ['weights', 'axis_1'], ['lengths'], { keepdims: 1 })
    .node('Div', ['sums', 'lengths'], ['embedding'])
    .output('embedding', 'FP32', ['N', sizes.width])
    .encode();
}

/** input_ids, INT64 [N, T], with 0 behind the end of a text, to embedding, FP32 [N, width]. */
export function paddedTextsModel(options: TextsOptions = {}): Uint8Array {
  const sizes = { ...defaults, ...options };
  const model = graph('padded_texts').input('input_ids', 'INT64', ['N', 'T']);
  addConstants(model, sizes);
  model
    .initializer('first', 'INT64', [], [0])
    .initializer('step', 'INT64', [], [1])
    .initializer('second_dim', 'INT64', [], [1])
    .initializer('padding', 'INT64', [], [0])
    .initializer('around_heads', 'INT64', [2], [1, 2])
    .node('Shape', ['input_ids'], ['ids_shape'])
    .node('Gather', ['ids_shape', 'second_dim'], ['length'])
    .node('Range', ['first', 'length', 'step'], ['position_ids'])
    .node('Greater', ['input_ids', 'padding'], ['has'])
    .node('Unsqueeze', ['has', 'around_heads'], ['sees'])
    .node('Where', ['sees', 'seen', 'hidden'], ['mask'])
    .node('Cast', ['has'], ['weights'], { to: float32 })
    .node('Unsqueeze', ['weights', 'axis_1'], ['weight_rows']);
  const last = addLayers(model, sizes, {
    split: [0, 0, sizes.heads],
    join: [0, 0],
    queries: [0, 2, 1, 3],
    keys: [0, 2, 3, 1],
  });
  return model
    .node('MatMul', ['weight_rows', last], ['sum_rows'])
    .node('Squeeze', ['sum_rows', 'axis_1'], ['sums'])
    .node('ReduceSum', ['weights', 'axis_1'], ['lengths'], { keepdims: 1 })
    .node('Div', ['sums', 'lengths'], ['embedding'])
    .output('embedding', 'FP32', ['N', sizes.width])
    .encode();
}

/** tokens, FP32 [T], of all texts and offsets, FP32 [N + 1], to the sum of each text, sums, FP32 [N, 1]. */
export function raggedSumModel(): Uint8Array {
  return graph('ragged_sum')
    .input('tokens', 'FP32', ['T'])
    .input('offsets', 'FP32', ['M'])
    .initializer('none', 'FP32', [1], [0])
    .initializer('axis_0', 'INT64', [], [0])
    .initializer('from_start', 'INT64', [1], [0])
    .initializer('from_second', 'INT64', [1], [1])
    .initializer('to_last', 'INT64', [1], [-1])
    .initializer('to_end', 'INT64', [1], [Number.MAX_SAFE_INTEGER])
    .initializer('columns', 'INT64', [2], [-1, 1])
    .node('CumSum', ['tokens', 'axis_0'], ['running'])
    .node('Concat', ['none', 'running'], ['before'], { axis: 0 })
    .node('Cast', ['offsets'], ['places'], { to: int64 })
    .node('Gather', ['before', 'places'], ['sums_before'])
    .node('Slice', ['sums_before', 'from_start', 'to_last'], ['at_starts'])
    .node('Slice', ['sums_before', 'from_second', 'to_end'], ['at_ends'])
    .node('Sub', ['at_ends', 'at_starts'], ['each'])
    .node('Reshape', ['each', 'columns'], ['sums'])
    .output('sums', 'FP32', ['N', 1])
    .encode();
}

// ONNX's numbers of element types.
const float32 = 1;
const int64 = 7;

function addConstants(model: Graph, { width, heads }: Sizes): void {
  if (width % heads !== 0) throw new Error(`width ${width} is no multiple of ${heads} heads`);
  model
    .initializer('axis_1', 'INT64', [1], [1])
    .initializer('seen', 'FP32', [], [0])
    .initializer('hidden', 'FP32', [], [hidden])
    .initializer('scale', 'FP32', [1], [1 / Math.sqrt(width / heads)])
    .initializer('half', 'FP32', [1], [0.5])
    .initializer('unit', 'FP32', [1], [1])
    .initializer('sqrt_two', 'FP32', [1], [Math.SQRT2]);
}

/** How the tokens' numbers are divided among the heads. */
interface Layout {
  /** The leading dims of the Reshapes that split and join heads; 0 keeps a dim. */
  readonly split: readonly number[];
  readonly join: readonly number[];
  /** The permutations that bring the heads to the front of queries, values and results, and of keys. */
  readonly queries: readonly number[];
  readonly keys: readonly number[];
}

/** Adds the embeddings and all layers; returns the name of the last output. */
function addLayers(model: Graph, sizes: Sizes, layout: Layout): string {
  const { layers, width, heads, vocabulary, maxTokens } = sizes;
  const numbers = random(1);
  const { split, join } = layout;
  model
    .initializer('split_heads', 'INT64', [split.length + 1], [...split, width / heads])
    .initializer('join_heads', 'INT64', [join.length + 1], [...join, width])
    .initializer('tokens', 'FP32', [vocabulary, width], numbers.floats(vocabulary * width, 1))
    .initializer('positions', 'FP32', [maxTokens, width], numbers.floats(maxTokens * width, 1))
    .node('Gather', ['tokens', 'input_ids'], ['token_rows'])
    .node('Gather', ['positions', 'position_ids'], ['position_rows'])
    .node('Add', ['token_rows', 'position_rows'], ['embedding_sum']);
  let current = addLayerNorm(model, width, 'embedded', 'embedding_sum');
  for (let i = 0; i < layers; i++) {
    const prefix = `layer${i}.`;
    current = addFeedForward(
      model,
      numbers,
      width,
      prefix,
      addAttention(model, numbers, width, layout, prefix, current),
    );
  }
  return current;
}

function addAttention(
  model: Graph,
  numbers: Random,
  width: number,
  { queries, keys }: Layout,
  prefix: string,
  input: string,
): string {
  const name = (part: string): string => prefix + part;
  for (const [part, perm] of [
    ['query', queries],
    ['key', keys],
    ['value', queries],
  ] as const) {
    addDense(model, numbers, [width, width], name(part), input);
    model
      .node('Reshape', [name(part), 'split_heads'], [name(`${part}_split`)])
      .node('Transpose', [name(`${part}_split`)], [name(`${part}_heads`)], { perm });
  }
  model
    .node('MatMul', [name('query_heads'), name('key_heads')], [name('products')])
    .node('Mul', [name('products'), 'scale'], [name('scaled')])
    .node('Add', [name('scaled'), 'mask'], [name('masked')])
    .node('Softmax', [name('masked')], [name('attention')], { axis: -1 })
    .node('MatMul', [name('attention'), name('value_heads')], [name('context_heads')])
    .node('Transpose', [name('context_heads')], [name('context_split')], { perm: queries })
    .node('Reshape', [name('context_split'), 'join_heads'], [name('context')]);
  addDense(model, numbers, [width, width], name('attended'), name('context'));
  model.node('Add', [name('attended'), input], [name('attended_sum')]);
  return addLayerNorm(model, width, name('attention_out'), name('attended_sum'));
}

/**
 * The lengths of `count` texts, from 8 to 128 tokens and 32 on average, in no order: most texts are short, as
 * sentences are.
 */
export function unequalLengths(count: number): readonly number[] {
  const lengths = Array.from({ length: count }, (_, i) =>
    Math.min(128, Math.round(8 - 24.2 * Math.log(1 - (i + 0.5) / count))),
  );
  // A step that has no divisor in common with the count visits each length once.
  let step = Math.floor(count * 0.618) | 1;
  while (greatestDivisor(step, count) > 1) step += 2;
  return lengths.map((_, i) => lengths[(i * step) % count] ?? 8);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** A text of this many tokens, of which none is padding. */
export function tokensOf(
  length: number,
  vocabulary: number = defaults.vocabulary,
): BigInt64Array<ArrayBuffer> {
  return BigInt64Array.from({ length }, (_, i) => BigInt(1 + ((i * 37 + length * 11) % (vocabulary - 1))));
}
