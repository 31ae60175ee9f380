/** The models that contestants run, with the loads that each is run under. */
import { readFileSync } from 'node:fs';
import { modelRepository } from '../examples/digits/data.js';
import { addModel, convNetModel, mlpModel, textEncoderModel } from '../test/support/models.js';
import { random } from '../test/support/onnx/random.js';

/** Items of one request each; a benchmark goes round and round through them. */
export type Items =
  | { readonly datatype: 'FP32'; readonly values: readonly Float32Array[] }
  | { readonly datatype: 'INT64'; readonly values: readonly BigInt64Array[] };

/** A model with one input and one output, FP32. */
export interface BenchModel {
  readonly name: string;
  readonly title: string;
  /** Of the .onnx file; absent for a model of the identity backend, which nobody else can run. */
  readonly bytes?: () => Uint8Array;
  readonly maxBatchSize: number;
  readonly input: {
    readonly name: string;
    /** As in the config: without the batch, -1 where they vary. */
    readonly dims: readonly number[];
    /** As the items have them. */
    readonly itemDims: readonly number[];
  };
  readonly output: { readonly name: string; readonly dims: readonly number[] };
  readonly items: () => Items;
  /** Whether an answer takes so little that to time each one would cost a part of it, and that runs may be inline. */
  readonly fast: boolean;
  /** Requests outstanding, load by load. */
  readonly outstanding: readonly number[];
  /** The shortest turn, in milliseconds, that holds several batches of everybody; absent where any turn does. */
  readonly leastWindowMs?: number;
}

/** Different items; more would only measure caches. */
const itemCount = 64;

function floats(length: number): Items {
  const numbers = random(7);
  return { datatype: 'FP32', values: Array.from({ length: itemCount }, () => numbers.floats(length, 1)) };
}

/** The vocabulary of the text encoder has 4,096 ids. */
function ids(length: number): Items {
  const numbers = random(7);
  return {
    datatype: 'INT64',
    values: Array.from({ length: itemCount }, () =>
      BigInt64Array.from({ length }, () => BigInt(numbers.integer(4096))),
    ),
  };
}

const add: BenchModel = {
  name: 'add',
  title: 'x + 1 on [N, 16], nothing but overhead',
  bytes: addModel,
  maxBatchSize: 512,
  input: { name: 'x', dims: [16], itemDims: [16] },
  output: { name: 'y', dims: [16] },
  items: () => floats(16),
  fast: true,
  outstanding: [1, 8, 64, 512],
};

/** V8 keeps arrays of at most 64 B on its own heap: what an answer costs beyond that. */
const addLarger: BenchModel = {
  ...add,
  name: 'add-1k',
  title: 'x + 1 on [N, 256], 1 KB in and out',
  bytes: () => addModel({ width: 256 }),
  input: { name: 'x', dims: [256], itemDims: [256] },
  output: { name: 'y', dims: [256] },
  items: () => floats(256),
};

const digits: BenchModel = {
  name: 'digits',
  title: 'the perceptron of examples/digits, some microseconds a row',
  bytes: () => readFileSync(new URL('digits/1/model.onnx', modelRepository)),
  maxBatchSize: 64,
  input: { name: 'image', dims: [64], itemDims: [64] },
  output: { name: 'scores', dims: [10] },
  items: () => floats(64),
  fast: true,
  outstanding: [1, 8, 64, 512],
};

const mlp: BenchModel = {
  name: 'mlp',
  title: 'perceptron 512-2048-2048-512; a run of one row only reads weights',
  bytes: () => mlpModel(),
  maxBatchSize: 64,
  input: { name: 'x', dims: [512], itemDims: [512] },
  output: { name: 'y', dims: [512] },
  items: () => floats(512),
  fast: false,
  outstanding: [1, 8, 64, 128, 512],
};

function text(tokens: number): BenchModel {
  return {
    name: `text-${tokens}`,
    title: `text encoder, 6 layers, width 384, ${tokens} tokens`,
    bytes: () => textEncoderModel(),
    maxBatchSize: 64,
    input: { name: 'input_ids', dims: [-1], itemDims: [tokens] },
    output: { name: 'embedding', dims: [384] },
    items: () => ids(tokens),
    fast: false,
    leastWindowMs: tokens < 32 ? 250 : 12.5 * tokens,
    // The longest one has no required figure, and takes its time.
    outstanding: tokens <= 32 ? [1, 8, 32, 64, 512] : [1, 8, 32],
  };
}

const conv: BenchModel = {
  name: 'conv',
  title: 'convolutional net like ResNet-18 on 3 x 224 x 224, 602 KB in',
  bytes: () => convNetModel(),
  maxBatchSize: 8,
  input: { name: 'image', dims: [3, 224, 224], itemDims: [3, 224, 224] },
  output: { name: 'logits', dims: [1000] },
  items: () => floats(3 * 224 * 224),
  fast: false,
  leastWindowMs: 400,
  outstanding: [1, 8, 32, 64, 512],
};

const identity: BenchModel = {
  name: 'identity',
  title: 'identity backend, 64 B in and out, nothing but our own overhead',
  maxBatchSize: 512,
  input: { name: 'x', dims: [16], itemDims: [16] },
  output: { name: 'y', dims: [16] },
  items: () => floats(16),
  fast: true,
  outstanding: [1, 8, 64, 512],
};

/** All models, in the order of the tables. */
export const models: readonly BenchModel[] = [
  add,
  addLarger,
  digits,
  mlp,
  text(8),
  text(32),
  text(128),
  conv,
  identity,
];

/** Requests outstanding, load by load, where plots are wanted. */
export const sweep: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Loads beside which the event loop's delay is measured. */
export interface DelayLoads {
  readonly outstanding: readonly number[];
  /** Whether the figure is about rivals, so that `--quick` watches them as well. */
  readonly rivals: boolean;
}

/**
 * By model: one whose runs are long enough to block an event loop (about 6 ms an item), which is what rivals do; and one
 * that runs on the JavaScript thread, answer after answer, held against ours with `inline: 'off'`.
 */
export const delayLoads: Readonly<Record<string, DelayLoads>> = {
  'text-32': { outstanding: [32], rivals: true },
  add: { outstanding: [1, 64], rivals: false },
};

/** The `config.pbtxt` that ours reads. */
export function configOf(model: BenchModel, datatype: Items['datatype']): string {
  const { name, input, output, maxBatchSize, bytes } = model;
  return `name: "${name}"
backend: "${bytes ? 'onnxruntime' : 'identity'}"
max_batch_size: ${maxBatchSize}
input [ { name: "${input.name}", data_type: TYPE_${datatype}, dims: [ ${input.dims.join(', ')} ] } ]
output [ { name: "${output.name}", data_type: TYPE_FP32, dims: [ ${output.dims.join(', ')} ] } ]
dynamic_batching { }
instance_group [ { kind: KIND_CPU, count: 1 } ]
`;
}
