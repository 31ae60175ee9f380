/** States and controls of ONNX models, value by value beside ONNX Runtime with states that the test carries along. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Datatype, TensorInput } from '../../src/index.js';
import { configText, floats, serve, until, type Context } from '../support/harness.js';
import { growing, lastThree, runningSum, tellsControls, tellsId } from '../support/models/sequences.js';
import { onnxRuntime, type OrtTensor } from '../support/onnx/run.js';
import type { RepositoryModel } from '../support/repository.js';

/** A model with a state, which is the output y, or one that is not declared. */
interface Stateful {
  readonly make: (batches: boolean) => Uint8Array;
  readonly datatype: 'FP32' | 'BYTES';
  /** The dims of x, and of the state in the configuration and in the first request. */
  readonly width: number;
  readonly dims: readonly number[];
  readonly first: readonly number[];
  readonly input: string;
  readonly output: string;
  /** Whether the state is in one buffer. */
  readonly fixed?: true;
}

const stateful: Readonly<Record<string, Stateful>> = {
  'a sum': {
    make: runningSum,
    datatype: 'FP32',
    width: 2,
    dims: [2],
    first: [2],
    input: 'sum',
    output: 'next',
  },
  'a state that grows': {
    make: (batches) => growing(batches, 'FP32'),
    datatype: 'FP32',
    width: 1,
    dims: [-1],
    first: [1],
    input: 'past',
    output: 'y',
  },
  'texts that grow': {
    make: (batches) => growing(batches, 'BYTES'),
    datatype: 'BYTES',
    width: 1,
    dims: [-1],
    first: [1],
    input: 'past',
    output: 'y',
  },
  'three texts': {
    make: (batches) => lastThree(batches, 'BYTES'),
    datatype: 'BYTES',
    width: 1,
    dims: [3],
    first: [3],
    input: 'past',
    output: 'y',
  },
  'one buffer': {
    make: (batches) => lastThree(batches, 'FP32'),
    datatype: 'FP32',
    width: 1,
    dims: [3],
    first: [3],
    input: 'past',
    output: 'y',
    fixed: true,
  },
};

type Values = readonly (number | string)[];

/** The inputs of a sequence's requests. They differ between sequences. */
function inputsOf(sequence: number, requests: number, { datatype, width }: Stateful): Values[] {
  return Array.from({ length: requests }, (_, request) =>
    Array.from({ length: width }, (_, i) => {
      const value = 100 * sequence + 10 * request + i;
      return datatype === 'BYTES' ? `«${value}»`.repeat(value % 4) : value;
    }),
  );
}

/** The outputs y of a sequence, if ONNX Runtime runs the model for each request, with the state of the one before. */
async function carried(model: Uint8Array, kind: Stateful, batches: boolean, xs: Values[]): Promise<Values[]> {
  const { InferenceSession, Tensor } = onnxRuntime();
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 4 });
  const tensor = (values: Values, dims: readonly number[]): OrtTensor =>
    kind.datatype === 'BYTES'
      ? new Tensor('string', values.map(String), dims)
      : new Tensor('float32', Float32Array.from(values, Number), dims);
  const rows = batches ? [1] : [];
  const count = kind.first.reduce((product, dim) => product * dim, 1);
  let state = tensor(new Array<number | string>(count).fill(kind.datatype === 'BYTES' ? '' : 0), [
    ...rows,
    ...kind.first,
  ]);
  const ys: Values[] = [];
  try {
    for (const values of xs) {
      const results = await session.run({ x: tensor(values, [...rows, kind.width]), [kind.input]: state });
      const { y, [kind.output]: next } = results;
      assert.ok(y && next);
      state = next;
      ys.push(y.data instanceof Float32Array ? [...y.data] : [...(y.data as string[])]);
    }
  } finally {
    await session.release();
  }
  return ys;
}

/** The setups of each model: rows of a batch, strategy, instances. */
const setups = [0, 4].flatMap((maxBatchSize) =>
  ['direct { }', 'oldest { max_candidate_sequences: 3 max_queue_delay_microseconds: 1000 }'].flatMap(
    (strategy) => [1, 3].map((instances) => ({ maxBatchSize, strategy, instances })),
  ),
);

for (const [name, kind] of Object.entries(stateful)) {
  void suite(name, () => {
    for (const { maxBatchSize, strategy, instances } of setups) {
      const batches = maxBatchSize > 0;
      test(`max_batch_size ${maxBatchSize}, ${strategy.split(' ')[0]}, ${instances} instances`, async (t) => {
        const y = kind.output === 'y' ? kind.dims : [kind.width];
        const model = kind.make(batches);
        const config = configText({
          maxBatchSize,
          batching: false,
          instances,
          inputs: [{ name: 'x', datatype: kind.datatype, dims: [kind.width] }],
          outputs: [{ name: 'y', datatype: kind.datatype, dims: y }],
          more: `sequence_batching { ${strategy}
            state { input_name: "${kind.input}" output_name: "${kind.output}" dims: [ ${kind.dims.join()} ]
              data_type: TYPE_${kind.datatype === 'BYTES' ? 'STRING' : kind.datatype}
              ${kind.fixed ? 'use_same_buffer_for_input_output: true' : ''} } }`,
        });
        const server = await serve(t, { m: { config, versions: { '1': model } } });
        const requests = 6;
        // More sequences than slots. Their requests take turns.
        const sequences = Array.from({ length: 14 }, (_, i) => ({
          sequence: server.model('m').sequence({ id: i % 2 === 0 ? i + 1 : `text ${i}` }),
          xs: inputsOf(i + 1, requests, kind),
          answers: [] as Promise<Values>[],
        }));
        for (let request = 0; request < requests; request++) {
          for (const { sequence, xs, answers } of sequences) {
            const x: TensorInput = {
              data: [...(xs[request] ?? [])] as number[] | string[],
              datatype: kind.datatype,
              shape: batches ? [1, kind.width] : [kind.width],
            };
            const answer = request === requests - 1 ? sequence.end({ x }) : sequence.infer({ x });
            answers.push(
              answer.then(({ outputs }) =>
                kind.datatype === 'BYTES' ? (outputs['y']?.strings() ?? []) : floats({ outputs }),
              ),
            );
          }
        }
        for (const { xs, answers } of sequences)
          assert.deepEqual(await Promise.all(answers), await carried(model, kind, batches, xs));
        // A sequence has ended soon after its last answer.
        await until(() => server.explain('m').sequences?.live === 0);
        assert.equal(server.explain('m').sequences?.stateBytes, 0);
      });
    }
  });
}

test('an output that is a state and declared, too, is delivered and kept', async (t) => {
  const config = configText({
    maxBatchSize: 4,
    batching: false,
    inputs: [{ name: 'x', dims: [2] }],
    outputs: [
      { name: 'y', dims: [2] },
      { name: 'next', dims: [2] },
    ],
    more: 'sequence_batching { state { input_name: "sum" output_name: "next" data_type: TYPE_FP32 dims: [ 2 ] } }',
  });
  const server = await serve(t, { m: { config, versions: { '1': runningSum(true) } } });
  const sequence = server.model('m').sequence();
  const x = { data: [1, 2], shape: [1, 2] };
  // The state is kept, whichever outputs the caller wants.
  await sequence.infer({ x }, { outputs: ['y'] });
  const second = await sequence.infer({ x }, { outputs: ['next'] });
  assert.deepEqual(Object.keys(second.outputs), ['next']);
  assert.deepEqual(floats(second, 'next'), [2, 4]);
  const third = await sequence.end({ x });
  assert.deepEqual(floats(third, 'next'), [3, 6]);
  assert.deepEqual(floats(third), [3, 6]);
});

const strategies = ['direct { }', 'oldest { }'] as const;

async function controlled(
  t: Context,
  model: RepositoryModel,
): Promise<ReturnType<Awaited<ReturnType<typeof serve>>['model']>> {
  return (await serve(t, { m: model })).model('m');
}

for (const [datatype, field, no, yes] of [
  ['FP32', 'fp32_false_true: [ -0.5, 1.5 ]', -0.5, 1.5],
  ['INT32', 'int32_false_true: [ -7, 2147483647 ]', -7, 2147483648],
  ['BOOL', 'bool_false_true: [ true, false ]', 1, 0],
] as const) {
  for (const strategy of strategies) {
    test(`controls of ${datatype}, ${strategy}`, async (t) => {
      const control = (name: string): string =>
        `control_input { name: "${name}" control { kind: CONTROL_SEQUENCE_${name.toUpperCase()} ${field} } }`;
      const config = configText({
        maxBatchSize: 4,
        batching: false,
        inputs: [{ name: 'x', dims: [1] }],
        outputs: [{ name: 'y', dims: [4] }],
        more: `sequence_batching { ${strategy} ${['start', 'end', 'ready'].map(control).join(' ')} }`,
      });
      const model = await controlled(t, { config, versions: { '1': tellsControls(datatype) } });
      const x = { x: { data: [1], shape: [1, 1] } };
      const [one, other] = [model.sequence(), model.sequence()];
      const asked = [one.infer(x), other.end(x), one.infer(x), one.end(x)];
      assert.deepEqual(
        (await Promise.all(asked)).map((result) => floats(result).slice(1)),
        [
          [yes, no, yes],
          [yes, yes, yes],
          [no, no, yes],
          [no, yes, yes],
        ],
      );
    });
  }
}

const ids: readonly (readonly [Datatype, bigint | string, unknown])[] = [
  ['UINT64', 2n ** 64n - 1n, 2n ** 64n - 1n],
  ['INT64', 2n ** 63n, -(2n ** 63n)],
  ['UINT32', 2n ** 32n + 5n, 5],
  ['INT32', 2n ** 32n - 1n, -1],
  ['BYTES', 'naïve', 'naïve'],
];
for (const [datatype, id, told] of ids) {
  for (const maxBatchSize of [0, 4]) {
    test(`an id as ${datatype}, max_batch_size ${maxBatchSize}`, async (t) => {
      const type = datatype === 'BYTES' ? 'STRING' : datatype;
      const config = configText({
        maxBatchSize,
        batching: false,
        inputs: [{ name: 'x', dims: [1] }],
        outputs: [{ name: 'y', datatype, dims: [1] }],
        more: `sequence_batching { control_input { name: "id"
          control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_${type} } } }`,
      });
      const model = await controlled(t, {
        config,
        versions: { '1': tellsId(maxBatchSize > 0, datatype) },
      });
      const { outputs } = await model
        .sequence({ id })
        .end({ x: { data: [1], shape: maxBatchSize > 0 ? [1, 1] : [1] } });
      const y = outputs['y'];
      assert.deepEqual(datatype === 'BYTES' ? y?.strings()[0] : y?.toArray().flat()[0], told);
    });
  }
}
