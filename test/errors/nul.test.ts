/** Error messages with NUL, from each kind of model that can raise them, over every interface. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TritonError, InferenceServer } from '../../src/index.js';
import { addressOf, connected } from '../client/harness.js';
import { script as javaScript } from '../javascript/harness.js';
import { adds, script as python, skip, withPython } from '../python/harness.js';
import { chain, ensemble, rejection, row, serve, type Context } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';

const x = row();
/** A message that also contains a lookalike of the mark before an error's stack. */
const said = 'one\0two\u00005\0\u0001three\0';
const inPython = JSON.stringify(said).replaceAll(/\\u00/g, '\\x');

/** Models whose requests fail with the text. */
const models: Readonly<Record<string, RepositoryModel>> = {
  raises: python(`def execute(self, requests):
    raise pb_utils.TritonModelException(${inPython})`),
  responds: python(`def execute(self, requests):
    return [pb_utils.InferenceResponse(error=pb_utils.TritonError(${inPython})) for _ in requests]`),
  sends: python(`def execute(self, requests):
    for request in requests:
        error = pb_utils.TritonError(${inPython})
        request.get_response_sender().send(pb_utils.InferenceResponse(error=error), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`),
  calls: python(`def execute(self, requests):
    inputs = [pb_utils.Tensor("x", array(requests[0]))]
    answer = pb_utils.InferenceRequest("raises", ["y"], inputs).exec()
    assert answer.error().message() == "model 'raises': " + ${inPython}, repr(answer.error().message())
    raise pb_utils.TritonModelException(answer.error().message())`),
  reruns: python(
    `def execute(self, requests):
    raise pb_utils.TritonModelException(${inPython})`,
    { parameters: { rerun_in_halves: 'true' } },
  ),
  throws: javaScript(`export default { execute() { throw new Error(${JSON.stringify(said)}); } };`),
  steps: ensemble(chain(['responds']), { maxBatchSize: 1 }),
};

const doors: Readonly<
  Record<string, (t: Context, server: InferenceServer, model: string) => Promise<TritonError>>
> = {
  infer: (_t, server, model) => rejection(server.infer(model, { x })),
  'the client, http': async (t, server, model) => {
    const remote = await connected(t, await addressOf(t, 'http', server));
    return rejection((await remote.model(model)).infer({ x }));
  },
  'the client, grpc': async (t, server, model) => {
    const remote = await connected(t, await addressOf(t, 'grpc', server));
    return rejection((await remote.model(model)).infer({ x }));
  },
};

test('a message with NUL in it comes whole, whoever says it, over every door', { skip }, async (t) => {
  const options = withPython({ logger: { error: () => undefined, warn: () => undefined } });
  const server = await serve(t, models, options);
  for (const model of Object.keys(models)) {
    for (const [door, ask] of Object.entries(doors)) {
      const { message } = await ask(t, server, model);
      assert.ok(message.includes(said), `${model}, ${door}: ${JSON.stringify(message)}`);
    }
  }
});

test('a message with NUL in it of a load that fails comes whole', { skip }, async (t) => {
  const initializes = {
    python: python(`def initialize(self, args):
    raise pb_utils.TritonModelException(${inPython})
${adds}`),
    javascript: javaScript(
      `export default { initialize() { throw new Error(${JSON.stringify(said)}); }, execute() {} };`,
    ),
  };
  const options = withPython({ modelControlMode: 'explicit', logger: { error: () => undefined } } as const);
  const server = await serve(t, initializes, options);
  for (const protocol of ['http', 'grpc'] as const) {
    const remote = await connected(t, await addressOf(t, protocol, server));
    for (const model of Object.keys(initializes)) {
      for (const loader of [server, remote]) {
        const { message } = await rejection(loader.loadModel(model));
        assert.ok(message.includes(said), `${model}, ${protocol}: ${JSON.stringify(message)}`);
      }
      const reason = server.index().find(({ name }) => name === model)?.reason ?? '';
      assert.ok(reason.includes(said), `${model}: ${JSON.stringify(reason)}`);
    }
  }
});

test('what a model has raised with NUL in it is the cause, with its stack', { skip }, async (t) => {
  const { raises, throws } = models;
  assert.ok(raises !== undefined && throws !== undefined);
  const server = await serve(t, { raises, throws }, withPython({}));
  for (const model of ['raises', 'throws']) {
    const { cause } = await rejection(server.infer(model, { x }));
    assert.ok(cause instanceof Error);
    assert.equal(cause.message, said, model);
    assert.match(cause.stack ?? '', /model\.(py|m?js)/);
  }
});
