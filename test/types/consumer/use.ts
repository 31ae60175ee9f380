// A user's program, which the test beside it compiles with the types that `tritonts types` wrote. It is not
// run.

import { Tensor as TheirTensor } from 'onnxruntime-node';
import {
  createServer,
  InferenceServer,
  type InferOptions,
  type InferResult,
  type MapOutcome,
  type Model,
  type ModelInstanceGroup,
  type Tensor,
} from 'tritonts';

const server = await createServer('./models');
const x = new Float32Array(16);
const model = server.model('typed');

// Outputs are typed by name.
const { outputs } = await model.infer({ x });
export const data: Float32Array<ArrayBuffer> = outputs.y.data;
export const texts: string[] = outputs['some words'].strings();
for (const row of outputs.y.toArray()) console.log(row);
// @ts-expect-error there is no such output
outputs.z;

// Inputs are typed by name and datatype.
await model.infer({ x: [[1, 2]], 'some words': ['a', Buffer.from('b')] });
await model.infer({ x: { data: x, shape: [1, 16] }, 'some words': undefined });
await model.infer({ x: outputs.y });
await model.infer({ x: new TheirTensor('float32', x, [1, 16]) });
// @ts-expect-error x is missing
await model.infer({});
// @ts-expect-error another element type
await model.infer({ x: new Int32Array(16) });
// @ts-expect-error misspelt
await model.infer({ x, z: x });

// The result has only the wanted outputs.
const { outputs: wanted } = await model.infer({ x }, { outputs: ['y'], into: { y: x } });
wanted.y.data.fill(0);
// @ts-expect-error not asked for
wanted['some words'];
const { outputs: classes } = await model.infer({ x }, { outputs: [{ name: 'y', classification: 3 }] });
if (classes.y.datatype === 'BYTES') classes.y.strings();
// @ts-expect-error misspelt
await model.infer({ x }, { outputs: ['z'] });
// @ts-expect-error misspelt
await model.infer({ x }, { output: ['y'] });

// Data sets.
for await (const { outputs } of model.map([{ x }])) outputs.y.data.fill(0);
for await (const { index, result } of model.map([{ x }], { ordered: false }))
  result.outputs.y.data.fill(index);
for await (const outcome of model.map([{ x }], { onError: 'yield' })) {
  if (outcome.error) console.error(outcome.index, outcome.error.code);
  else outcome.result.outputs.y.data.fill(0);
}
export async function* outcomes(untyped: Model): AsyncGenerator<MapOutcome, void> {
  yield* untyped.map([{ x }], { onError: 'yield' });
}

// The name is known only at run time.
export async function first(name: string, options?: InferOptions): Promise<Tensor | undefined> {
  const { outputs } = await server.infer(name, { x }, options);
  return outputs['y'];
}

// Every model is a Model, and tests can replace it by their own.
export const general: Model = model;
export const stub: Model = {
  name: 'stub',
  version: undefined,
  ready: true,
  checkReady: () => Promise.resolve(true),
  metadata: { name: 'stub', versions: [], platform: '', inputs: [], outputs: [] },
  config: general.config,
  notes: [],
  infer: (): Promise<InferResult> => Promise.reject(new Error('not today')),
  map: () => {
    throw new Error('not today');
  },
  stream: () => {
    throw new Error('not today');
  },
  runtimeInfo: () => general.runtimeInfo(),
  statistics: () => general.statistics(),
};

export const groups: readonly ModelInstanceGroup[] = general.config.instance_group;
export const other: InferenceServer = await InferenceServer.create('./models');
// @ts-expect-error a server exists only when it is up
export const wrong = new InferenceServer();
await using closing = server;
console.log(JSON.stringify(await closing.infer('typed', { x })));
