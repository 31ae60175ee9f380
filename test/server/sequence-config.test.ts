import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configText, rejection, serve } from '../support/harness.js';
import { graph } from '../support/onnx/graph.js';
import type { RepositoryModel } from '../support/repository.js';

/** A model that adds up its inputs x, with the sum as a state. `start` is 1 in the first request, when the sum is not used. */
function sumModel(): Uint8Array {
  return graph('sum')
    .input('x', 'FP32', ['N', 2])
    .input('sum', 'FP32', ['N', 2])
    .input('start', 'FP32', ['N', 1])
    .initializer('one', 'FP32', [1], [1])
    .node('Sub', ['one', 'start'], ['goes_on'])
    .node('Mul', ['sum', 'goes_on'], ['before'])
    .node('Add', ['x', 'before'], ['y'])
    .node('Identity', ['y'], ['next'])
    .output('y', 'FP32', ['N', 2])
    .output('next', 'FP32', ['N', 2])
    .encode();
}

const sequences = `sequence_batching {
  control_input { name: "start" control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } }
  state { input_name: "sum" output_name: "next" data_type: TYPE_FP32 dims: [ 2 ] }
}`;

function summed(more = '', outputs: readonly string[] = ['y']): RepositoryModel {
  const config = configText({
    maxBatchSize: 4,
    batching: false,
    inputs: [{ name: 'x', dims: [2] }],
    outputs: outputs.map((name) => ({ name, dims: [2] })),
    more: `${sequences}\n${more}`,
  });
  return { config, versions: { '1': sumModel() } };
}

const sample = (more: string): string =>
  `model_warmup { name: "first" batch_size: 3 inputs { key: "x" value { data_type: TYPE_FP32 dims: 2 random_data: true } } ${more} }`;

test('the configuration has the sequences with their defaults, and the metadata has no state and no control', async (t) => {
  const server = await serve(t, { hidden: summed(), shown: summed('', ['y', 'next']) });
  for (const name of ['hidden', 'shown']) {
    const { config, metadata, notes } = server.model(name);
    assert.deepEqual(notes, []);
    assert.equal(config.sequence_batching?.max_sequence_idle_microseconds, 1_000_000);
    assert.equal(config.sequence_batching.state[0]?.output_name, 'next');
    assert.deepEqual(
      metadata.inputs.map((input) => [input.name, input.shape]),
      [['x', [-1, 2]]],
    );
  }
  assert.deepEqual(
    server.model('hidden').metadata.outputs.map(({ name }) => name),
    ['y'],
  );
  // A state that is declared as an output, too, is one.
  assert.deepEqual(
    server.model('shown').metadata.outputs.map(({ name }) => name),
    ['y', 'next'],
  );
});

test('callers can neither send a state or a control, nor ask for a state that is no output', async (t) => {
  const server = await serve(t, { m: summed() });
  const x = { data: [1, 2], shape: [1, 2] };
  for (const [name, more] of [
    ['sum', { sum: x }],
    ['start', { start: { data: [1], shape: [1, 1] } }],
  ] as const) {
    const error = await rejection(server.infer('m', { x, ...more }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, new RegExp(`'${name}'`));
  }
  const error = await rejection(server.infer('m', { x }, { outputs: ['next'] }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /'next'/);
});

test('a warm-up runs with zeros for states and controls, or with what the sample has', async (t) => {
  const own = `inputs { key: "sum" value { data_type: TYPE_FP32 dims: 2 input_data_file: "sum.bin" } }
    inputs { key: "start" value { data_type: TYPE_FP32 dims: 1 random_data: true } }`;
  const server = await serve(t, {
    zeros: summed(sample('')),
    own: { ...summed(sample(own)), files: { 'warmup/sum.bin': new Uint8Array(8) } },
  });
  for (const name of ['zeros', 'own']) {
    const statistics = server.model(name).statistics();
    assert.equal(statistics.inference_stats.success.count, 3, name);
    assert.equal(statistics.inference_stats.fail.count, 0, name);
  }
});

test('a sample whose state does not fit is refused with its place', async (t) => {
  const wrong = 'inputs { key: "sum" value { data_type: TYPE_INT32 dims: 3 zero_data: true } }';
  const server = await serve(t, { m: summed(sample(wrong)) }, { modelControlMode: 'explicit' });
  const error = await rejection(server.loadModel('m'));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /model_warmup\[0\]\.inputs\["sum"\]\.data_type: expected TYPE_FP32/);
  assert.match(
    error.message,
    /model_warmup\[0\]\.inputs\["sum"\]\.dims: expected dims of \[2\], .* found \[3\]/,
  );
});

test('a state with variable dims has those of its first request in a warm-up', async (t) => {
  const model = graph('grows')
    .input('x', 'INT64', ['N', 1])
    .input('s', 'INT64', ['N', 'M'])
    .node('Concat', ['s', 'x'], ['t'], { axis: 1 })
    .node('Identity', ['x'], ['y'])
    .output('y', 'INT64', ['N', 1])
    .output('t', 'INT64', ['N', 'M1'])
    .encode();
  const config = configText({
    maxBatchSize: 4,
    batching: false,
    inputs: [{ name: 'x', datatype: 'INT64', dims: [1] }],
    outputs: [{ name: 'y', datatype: 'INT64', dims: [1] }],
    more: `sequence_batching { state { input_name: "s" output_name: "t" data_type: TYPE_INT64 dims: [ -1 ] } }
      model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_INT64 dims: 1 zero_data: true } } }`,
  });
  const server = await serve(t, { m: { config, versions: { '1': model } } });
  assert.equal(server.model('m').statistics().inference_stats.success.count, 1);
});

const javascript = `export default {
  execute(requests) {
    return requests.map(({ inputs }) => {
      const names = Object.keys(inputs).join();
      if (names !== 'x,sum,start') throw new Error('unexpected inputs ' + names);
      const y = Float32Array.from(inputs.x.data, (x, i) => x + inputs.sum.data[i] + inputs.start.data[0]);
      return { y, next: y };
    });
  },
};`;
test('a JavaScript model has states and controls among its inputs, and returns states', async (t) => {
  const config = summed(sample('')).config?.replace('onnxruntime', 'javascript') ?? '';
  const server = await serve(t, {
    m: { config, versions: { '1': { 'model.mjs': Buffer.from(javascript) } } },
  });
  assert.equal(server.model('m').statistics().inference_stats.success.count, 3);
});
