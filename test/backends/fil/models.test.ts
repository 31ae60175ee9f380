/** Every model of the fixtures answers as its framework does. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, serve } from '../../support/harness.js';
import { allRows, assertClose, treeModels, trees, withoutConfig, type TreeModel } from './answers.js';

/** A repository with each model. */
function repositoryOf<T>(write: (model: TreeModel) => T): Record<string, T> {
  return Object.fromEntries(treeModels.map((model) => [model.name, write(model)]));
}

test('each model answers as its framework does: a batch, and rows that the server puts together', async (t) => {
  const server = await serve(t, repositoryOf(trees));
  for (const model of treeModels) {
    const { name, asked, values, features } = model;
    const whole = await server.infer(name, {
      input__0: { data: allRows(model), shape: [asked.length, features] },
    });
    assertClose(floats(whole, 'output__0'), values, name);
    const alone = await Promise.all(asked.map((row) => server.infer(name, { input__0: row })));
    // A row has one answer, however many rows are in its batch.
    assert.deepEqual(
      alone.flatMap((result) => floats(result, 'output__0')),
      floats(whole, 'output__0'),
      name,
    );
  }
});

test('each model is served without a configuration', async (t) => {
  const server = await serve(t, repositoryOf(withoutConfig));
  for (const model of treeModels) {
    const { name, asked, values, features, columns } = model;
    const { config } = server.model(name);
    assert.equal(config.backend, 'fil');
    assert.equal(config.max_batch_size, 32_768);
    assert.ok(config.dynamic_batching);
    assert.deepEqual(
      [...config.input, ...config.output].map((tensor) => [tensor.name, tensor.data_type, tensor.dims]),
      [
        ['input__0', 'TYPE_FP32', [features]],
        ['output__0', 'TYPE_FP32', [columns]],
      ],
    );
    const whole = await server.infer(name, {
      input__0: { data: allRows(model), shape: [asked.length, features] },
    });
    assertClose(floats(whole, 'output__0'), values, name);
  }
});

test('treeshap_output has the contributions that the framework computes', async (t) => {
  const models = treeModels.filter(({ contributions }) => contributions !== undefined);
  assert.ok(models.length > 20);
  const server = await serve(
    t,
    Object.fromEntries(
      models.map((model) => {
        const { contributions = [], asked } = model;
        return [model.name, trees(model, { shap: contributions.length / asked.length })];
      }),
    ),
  );
  for (const model of models) {
    const { name, asked, values, features, contributions = [] } = model;
    const result = await server.infer(name, {
      input__0: { data: allRows(model), shape: [asked.length, features] },
    });
    assertClose(floats(result, 'output__0'), values, name);
    // XGBoost adds them up as floats.
    assertClose(floats(result, 'treeshap_output'), contributions, name, 1e-5);
  }
});
