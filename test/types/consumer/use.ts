// A user's program, which the test beside it compiles with the types that `tritonts types` wrote. It is not
// run.

import { Tensor as TheirTensor } from 'onnxruntime-node';
import {
  createServer,
  InferenceServer,
  type InferOptions,
  type InferResult,
  type JavaScriptModel,
  type MapOutcome,
  type Model,
  type ModelConfig,
  type ModelObject,
  type Tensor,
} from 'tritonts';
import type { ModelConfig as SameConfig, ModelInstanceGroup } from 'tritonts/config';
import type { ModelRequest, Results } from 'tritonts/javascript';

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
export const named: string[] = classes.y.strings();
// @ts-expect-error classes are strings
classes.y.data.fill(0);
const { outputs: values } = await model.infer(
  { x },
  { outputs: [{ name: 'y' }, { name: 'some words', classification: 0 }] },
);
values.y.data.fill(0);
values['some words'].strings();
const count = Math.random() > 0.5 ? 3 : undefined;
const { outputs: either } = await model.infer({ x }, { outputs: [{ name: 'y', classification: count }] });
if (either.y.datatype === 'BYTES') either.y.strings();
else either.y.data.fill(0);
// @ts-expect-error misspelt
await model.infer({ x }, { outputs: ['z'] });
// @ts-expect-error misspelt
await model.infer({ x }, { output: ['y'] });

// Data sets.
for await (const { outputs } of model.map([{ x }])) outputs.y.data.fill(0);
for await (const { index, result } of model.map([{ x }], { ordered: false }))
  result.outputs.y.data.fill(index);
for await (const { item, result } of model.map([{ x }], { withItem: true }))
  console.log(item.x, result.outputs.y.data.fill(0));
for await (const outcome of model.map([{ x }], { onError: 'yield' })) {
  if (outcome.error) console.error(outcome.index, outcome.error.code);
  else outcome.result.outputs.y.data.fill(0);
}
export async function* outcomes(untyped: Model): AsyncGenerator<MapOutcome, void> {
  yield* untyped.map([{ x }], { onError: 'yield' });
}

// Models in JavaScript are typed by name, too.
export class Typed implements JavaScriptModel<'typed'> {
  execute(requests: readonly ModelRequest<'typed'>[]): Results<'typed'> {
    return requests.map(({ inputs, wanted }) => {
      const numbers: Float32Array = inputs.x.data;
      const words: string[] | undefined = inputs['some words']?.strings();
      // @ts-expect-error it may be missing
      inputs['some words'].strings();
      // @ts-expect-error there is no such input
      inputs.z;
      return wanted.includes('y') ? { y: numbers, 'some words': words } : {};
    });
  }
}
export const untyped: JavaScriptModel = new Typed();
export const described: JavaScriptModel<{ inputs: { a: 'INT64' }; outputs: { b: 'FP32' } }> = {
  execute: (requests) => requests.map(({ inputs }) => ({ b: Float32Array.from(inputs.a.data, Number) })),
};
export const object: ModelObject<'typed'> = {
  config: {},
  // @ts-expect-error another element type
  execute: (requests) => requests.map(() => ({ y: new Int32Array(16) })),
};
export const misspelt: JavaScriptModel<'typed'> = {
  // @ts-expect-error there is no such output
  execute: (requests) => requests.map((): Results<'typed'>[number] => ({ z: x })),
};
// @ts-expect-error there is no model of that name
export type Nobody = JavaScriptModel<'nobody'>;

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
  sequence: () => {
    throw new Error('not today');
  },
  runtimeInfo: () => general.runtimeInfo(),
  statistics: () => general.statistics(),
  explain: () => general.explain(),
};

export const groups: readonly ModelInstanceGroup[] = general.config.instance_group;
export const same: SameConfig = general.config satisfies ModelConfig;
export const other: InferenceServer = await InferenceServer.create('./models');
// @ts-expect-error a server exists only when it is up
export const wrong = new InferenceServer();
await using closing = server;
console.log(JSON.stringify(await closing.infer('typed', { x })));
