/** The models that contestants run, with the loads of each. */
import { readFileSync } from 'node:fs';
import { modelRepository } from '../../examples/digits/data.js';
import { addModel, convNetModel, mlpModel, textEncoderModel } from '../../test/support/models.js';
import { random } from '../../test/support/onnx/random.js';

/** Items of one request each. A benchmark goes through them again and again. */
export type Items =
  | { readonly datatype: 'FP32'; readonly values: readonly Float32Array[] }
  | { readonly datatype: 'INT64'; readonly values: readonly BigInt64Array[] };

/** A model with one input and one output, FP32. */
export interface BenchModel {
  readonly name: string;
  readonly title: string;
  /** Content of the .onnx file; absent for a model of the identity backend, which no rival can run. */
  readonly bytes?: () => Uint8Array;
  readonly maxBatchSize: number;
  readonly input: {
    readonly name: string;
    /** The dims as in the config: without the batch, -1 if they vary. */
    readonly dims: readonly number[];
    /** The dims of the items. */
    readonly itemDims: readonly number[];
  };
  readonly output: { readonly name: string; readonly dims: readonly number[] };
  readonly items: () => Items;
  /**
   * Whether an answer takes so little time that timing each one would matter, and that runs may be inline.
   */
  readonly fast: boolean;
  /** Numbers of outstanding requests. */
  readonly outstanding: readonly number[];
  /** The shortest turn, in milliseconds, with several batches of every contestant; absent if any turn has. */
  readonly leastWindowMs?: number;
}

/** Number of different items; more would only measure caches. */
const itemCount = 64;

function floats(length: number): Items {
  const numbers = random(7);
  return { datatype: 'FP32', values: Array.from({ length: itemCount }, () => numbers.floats(length, 1)) };
}

/** Ids for the text encoder, whose vocabulary has 4,096. */
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

/** V8 keeps arrays of at most 64 B on its own heap. This model shows what a larger answer costs. */
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
    // The longest text has no required figure, and takes long.
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

/** Numbers of outstanding requests for plots. */
export const sweep: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** The loads under which the event loop's delay is measured. */
export interface DelayLoads {
  readonly outstanding: readonly number[];
  /** Whether the figure is about rivals, so that `--quick` measures them as well. */
  readonly rivals: boolean;
}

/**
 * The loads by model. One model has runs that are long enough to block an event loop (about 6 ms an item), as
 * rivals do. The other one runs on the JS thread, answer after answer, and is compared with `inline: 'off'`.
 */
export const delayLoads: Readonly<Record<string, DelayLoads>> = {
  'text-32': { outstanding: [32], rivals: true },
  add: { outstanding: [1, 64], rivals: false },
};

/** The `config.pbtxt` that tritonts reads. */
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
