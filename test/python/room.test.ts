/** Outputs without room in the shared memory fail only their own request. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, row } from '../support/harness.js';
import { script, serving, skip } from './harness.js';

const final = 'pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL';
const names = Array.from({ length: 9 }, (_, k) => `y${k}`);
const outputs = names.map((name) => ({ name, dims: [-1] }));

/** The outputs have 9 GiB together, and the memory 8 GiB. The pages of the shared array are never touched. */
const answers = `def initialize(self, args):
    import numpy as np
    self.huge = np.zeros((1, 2**28), np.float32)
def response(self, request):
    value = array(request)[0, 0]
    if value == 2:
        return pb_utils.InferenceResponse(error=pb_utils.TritonError("its own", pb_utils.TritonError.NOT_FOUND))
    data = self.huge if value == 1 else array(request)
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, data) for name in ${JSON.stringify(names)}])`;

test('of a batch only the request whose outputs have no room fails for that', { skip }, async (t) => {
  const model = script(
    `${answers}
def execute(self, requests):
    return [self.response(request) for request in requests]`,
    {
      outputs,
      maxBatchSize: 4,
      batching: 'preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 5000000',
    },
  );
  const server = await serving(t, { m: model });
  for (const values of [
    [0, 1, 2, 3],
    [1, 1, 1, 1],
    [2, 1, 1, 0],
  ]) {
    const outcomes = await Promise.all(
      values.map((value) =>
        server.infer('m', { x: row(value) }).then(
          (result) => (result.outputs['y8'] === undefined ? 'lacks' : 'ok'),
          (error: unknown) => error as { code: string; reason?: string; message: string },
        ),
      ),
    );
    for (const [k, value] of values.entries()) {
      const outcome = outcomes[k];
      if (value === 1 && typeof outcome === 'object') {
        assert.deepEqual([outcome.code, outcome.reason], ['UNAVAILABLE', 'NO_MEMORY'], outcome.message);
        assert.match(outcome.message, /^model 'm': /);
      } else if (value === 2 && typeof outcome === 'object') {
        assert.deepEqual([outcome.code, outcome.message], ['NOT_FOUND', "model 'm': its own"]);
      } else {
        assert.equal(outcome, 'ok', `${value} of ${values.join()}`);
      }
    }
  }
  const last = await Promise.all([5, 6, 7, 8].map((value) => server.infer('m', { x: row(value) })));
  assert.deepEqual(
    last.map((result) => floats(result, 'y8')[0]),
    [5, 6, 7, 8].map((value) => row(value)[0]),
  );
});

test(
  'a response of a stream that has no room ends its request, and the next one is served',
  { skip },
  async (t) => {
    const model = script(
      `${answers}
def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        sender.send(self.response(request))
        try:
            sender.send(flags=${final})
        except pb_utils.TritonModelException as error:
            assert "was sent already" in str(error), str(error)`,
      { outputs, maxBatchSize: 1, more: 'model_transaction_policy { decoupled: true }' },
    );
    const server = await serving(t, { m: model });
    const read = async (value: number): Promise<string[]> => {
      const found: string[] = [];
      try {
        for await (const result of server.model('m').stream({ x: row(value) }))
          found.push(result.outputs['y8'] === undefined ? 'lacks' : 'ok');
      } catch (error) {
        found.push((error as { reason?: string }).reason ?? String(error));
      }
      return found;
    };
    for (let times = 0; times < 3; times++) {
      assert.deepEqual(await read(1), ['NO_MEMORY']);
      assert.deepEqual(await read(0), ['ok']);
    }
  },
);
