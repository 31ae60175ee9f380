/** Responses that lack an output: as in Triton, a success without it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, connected } from '../client/harness.js';
import { chain, ensemble, floats, rejection, row, until } from '../support/harness.js';
import { adds, recorded, script, serving, skip } from './harness.js';

const final = 'pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL';
const outputs = [{ name: 'y' }, { name: 'z' }] as const;

/** Returns only `y` if x is 1, `y` and `z` if x is 2, and otherwise no output. */
const choose = `def tensors(request):
    count = int(array(request)[0, 0])
    names = ["y", "z"][:count] if count < 3 else []
    return [pb_utils.Tensor(name, array(request)) for name in names]`;
const forms = {
  returns: script(
    `def execute(self, requests):
    return [pb_utils.InferenceResponse(tensors(request)) for request in requests]`,
    { outputs },
  ),
  sends: script(
    `def execute(self, requests):
    for request in requests:
        request.get_response_sender().send(pb_utils.InferenceResponse(tensors(request)), ${final})`,
    { outputs },
  ),
  decoupled: script(
    `def execute(self, requests):
    for request in requests:
        request.get_response_sender().send(pb_utils.InferenceResponse(tensors(request)), ${final})`,
    { outputs, more: 'model_transaction_policy { decoupled: true }' },
  ),
};

/** Inserts `choose` before the model's class. */
function withChoice(model: (typeof forms)[keyof typeof forms]): typeof model {
  const [version] = Object.values(model.versions ?? {});
  assert.ok(version !== undefined && !(version instanceof Uint8Array));
  const text = String(version['model.py']).replace(
    'class TritonPythonModel',
    `${choose}\n\nclass TritonPythonModel`,
  );
  return { ...model, versions: { '1': { 'model.py': text } } };
}

test('a response that lacks an output is a success without it, over every door', { skip }, async (t) => {
  const server = await serving(
    t,
    Object.fromEntries(Object.entries(forms).map(([name, model]) => [name, withChoice(model)])),
  );
  const given: Readonly<Record<number, readonly string[]>> = { 1: ['y'], 2: ['y', 'z'], 3: [] };
  const remotes = {
    http: await connected(t, await addressOf(t, 'http', server)),
    grpc: await connected(t, await addressOf(t, 'grpc', server)),
  };
  for (const name of Object.keys(forms)) {
    for (const [value, names] of Object.entries(given)) {
      const x = row(Number(value));
      const results: Record<string, object> = {};
      if (name === 'decoupled') {
        for await (const result of server.model(name).stream({ x })) results['stream'] = result.outputs;
      } else {
        results['infer'] = (await server.infer(name, { x })).outputs;
        for (const [protocol, remote] of Object.entries(remotes)) {
          results[protocol] = (await (await remote.model(name)).infer({ x })).outputs;
        }
      }
      for (const [door, found] of Object.entries(results)) {
        assert.deepEqual(Object.keys(found).sort(), names, `${name}, ${door}, ${value}`);
      }
    }
  }
  // Each request of a batch gets exactly the outputs of its response.
  const batch = [1, 2, 3, 1, 2].map((value) => server.infer('returns', { x: row(value) }));
  assert.deepEqual(
    (await Promise.all(batch)).map((result) => Object.keys(result.outputs).sort()),
    [['y'], ['y', 'z'], [], ['y'], ['y', 'z']],
  );
});

test('an output of another name is dropped, but not instead of one that is lacking', { skip }, async (t) => {
  const { logger, lines } = recorded();
  const server = await serving(
    t,
    {
      more: script(`def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor(name, array(request)) for name in ("y", "w")])
            for request in requests]`),
      other: script(`def execute(self, requests):
    return [answer(array(request), "w") for request in requests]`),
    },
    { logger },
  );
  assert.deepEqual(floats(await server.infer('more', { x: row(3) })), [...row(3)]);
  // The log does not come with the answer.
  await until(() => lines.some((line) => line.includes("output 'w' is left out")));
  const { message } = await rejection(server.infer('other', { x: row() }));
  assert.match(message, /unknown output 'w'.*has y.*lacks 'y'/);
});

test('a step whose response lacks what the next one needs is its request’s error', { skip }, async (t) => {
  const empty = script(`def execute(self, requests):
    return [pb_utils.InferenceResponse([]) for _ in requests]`);
  const server = await serving(t, {
    empty,
    adds: script(adds),
    first: ensemble(chain(['empty', 'adds']), { maxBatchSize: 64 }),
    last: ensemble(chain(['adds', 'empty']), { maxBatchSize: 64 }),
  });
  const { message } = await rejection(server.infer('first', { x: row() }));
  assert.match(message, /model 'empty' \(step 1\) responded without its output 'y'/);
  // A missing output that no step needs is also missing in the ensemble's result.
  assert.deepEqual(Object.keys((await server.infer('last', { x: row() })).outputs), []);
});
