/** A model never changes or keeps what belongs to a caller, and a caller never what belongs to the model. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ensemble } from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';
import { eachWay, elements, needsPyTorch, serve, torch } from './models.js';

/** The answer to a request in memory of the caller, which must be as before. */
async function asked(
  server: Awaited<ReturnType<typeof serve>>,
  name: string,
  values: readonly number[],
  input = 'x',
): Promise<unknown[]> {
  const data = Float32Array.from(values);
  const answer = await server.infer(name, { [input]: { data, shape: [1, values.length] } });
  assert.deepEqual([...data], values, `${name} changed its input`);
  return elements(answer);
}

for (const inline of ['auto', 'off']) {
  test(`operations in place change no request (inline: ${inline})`, needsPyTorch, async (t) => {
    const options = { parameters: { inline } };
    const server = await serve(t, {
      in_place: await torch('in_place', options),
      in_place_list: await torch('in_place_list', options),
      in_place_fresh: await torch('in_place_fresh', options),
      in_place_view: await torch('in_place_view', options),
      in_place_dict: await torch('in_place_dict', { ...options, inputs: [{ name: 'a', dims: [-1] }] }),
    });
    // Large tensors are passed in another way than small ones.
    for (const size of [2, 100_000]) {
      const values = Array.from({ length: size }, (_, i) => (i % 7) - 3);
      for (let round = 0; round < 4; round++) {
        assert.deepEqual(
          await asked(server, 'in_place', values),
          values.map((value) => value + 1),
        );
        assert.deepEqual(
          await asked(server, 'in_place_list', values),
          values.map((value) => value + 1),
        );
        assert.deepEqual(
          await asked(server, 'in_place_fresh', values),
          values.map((value) => Math.max(0, value) + 1),
        );
        assert.deepEqual(await asked(server, 'in_place_view', values), [7, ...values.slice(1)]);
        assert.deepEqual(
          await asked(server, 'in_place_dict', values, 'a'),
          values.map((value) => value * 2),
        );
      }
    }
  });
}

const aliases = ['alias_dropout', 'alias_type_as', 'alias_sum_to_size', 'alias_atleast_2d', 'alias_set'];

test('operations in place change no tensor of an ensemble', needsPyTorch, async (t) => {
  const models: Record<string, RepositoryModel> = { twice: await torch('twice') };
  for (const name of [...aliases, 'in_place', 'in_place_view']) {
    models[name] = await torch(name);
    models[`graph_${name}`] = ensemble(
      [
        { model: 'twice', from: { x: 'x' }, to: { y: 'mid' } },
        { model: name, from: { x: 'mid' }, to: { y: 'y' } },
      ],
      {
        inputs: [{ name: 'x', dims: [-1] }],
        outputs: [
          { name: 'mid', dims: [-1] },
          { name: 'y', dims: [-1] },
        ],
      },
    );
  }
  const server = await serve(t, models);
  for (const name of [...aliases, 'in_place', 'in_place_view']) {
    for (const size of [2, 100_000]) {
      const data = Float32Array.from({ length: size }, (_, i) => (i % 2 === 0 ? -1 : 2));
      const { outputs } = await server.infer(`graph_${name}`, { x: { data, shape: [1, size] } });
      assert.deepEqual([...(outputs['mid']?.as('FP32').data.slice(0, 2) ?? [])], [-2, 4], name);
      const expected = name === 'alias_dropout' ? [0, 4] : name === 'in_place_view' ? [7, 4] : [-1, 5];
      assert.deepEqual([...(outputs['y']?.as('FP32').data.slice(0, 2) ?? [])], expected, name);
    }
  }
});

eachWay('a model that keeps its input keeps a copy', async (t) => {
  const server = await serve(t, { m: await torch('keep') });
  assert.deepEqual(await asked(server, 'm', [1, 2]), [0, 0]);
  const data = Float32Array.of(3, 4);
  const answer = await server.infer('m', { x: { data, shape: [1, 2] } });
  assert.deepEqual(elements(answer), [1, 2]);
  data.fill(9);
  // Other requests use the memory of earlier batches.
  const other = await serve(t, { twice: await torch('twice') });
  await Promise.all(Array.from({ length: 20 }, () => asked(other, 'twice', [8, 8])));
  assert.deepEqual(await asked(server, 'm', [5, 6]), [3, 4]);
});

eachWay('a caller may overwrite an answer that is an input, a weight or another output', async (t) => {
  const two = {
    outputs: [
      { name: 'y', dims: [-1] },
      { name: 'z', dims: [-1] },
    ],
  };
  const server = await serve(t, {
    same: await torch('same'),
    weights: await torch('weights'),
    pair: await torch('pair_of_one', two),
    twice: await torch('twice'),
  });
  for (let round = 0; round < 3; round++) {
    const data = Float32Array.of(1, 2);
    for (const name of ['same', 'weights', 'twice']) {
      const { outputs } = await server.infer(name, { x: { data, shape: [1, 2] } });
      const answer = outputs['y']?.as('FP32').data;
      assert.deepEqual([...(answer ?? [])], name === 'twice' ? [2, 4] : [1, 2], name);
      answer?.fill(9);
    }
    assert.deepEqual([...data], [1, 2]);
    const { outputs } = await server.infer('pair', { x: { data, shape: [1, 2] } });
    outputs['y']?.as('FP32').data.fill(9);
    assert.deepEqual([...(outputs['z']?.as('FP32').data ?? [])], [2, 4]);
  }
});

test(
  'answers stay as they are while more requests run, and after the model is gone',
  needsPyTorch,
  async (t) => {
    const server = await serve(t, { m: await torch('twice') });
    const size = 50_000;
    const kept = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        server.infer('m', { x: { data: new Float32Array(size).fill(i), shape: [1, size] } }),
      ),
    );
    await server.close();
    kept.forEach(({ outputs }, i) => {
      const data = outputs['y']?.as('FP32').data ?? new Float32Array();
      assert.ok(data.length === size && data.every((value) => value === 2 * i));
    });
  },
);

eachWay('an output that is a view is made dense', async (t) => {
  const server = await serve(t, {
    m: await torch('view', {
      maxBatchSize: 0,
      inputs: [{ name: 'x', dims: [-1, -1] }],
      outputs: [{ name: 'y', dims: [-1, -1] }],
    }),
  });
  const answer = await server.infer('m', { x: { data: [1, 2, 3, 4, 5, 6], shape: [2, 3] } });
  assert.deepEqual(
    [answer.outputs['y']?.shape, elements(answer)],
    [
      [3, 2],
      [1, 4, 2, 5, 3, 6],
    ],
  );
});
