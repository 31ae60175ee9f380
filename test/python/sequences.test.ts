/** Python models see the sequences of requests, and may give sequences to their calls. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferOptions } from '../../src/index.js';
import { row, until } from '../support/harness.js';
import { script, serving, skip } from './harness.js';

const text = { outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }] } as const;

const tells = `def execute(self, requests):
    import numpy
    told = [[request.correlation_id(), request.flags(), json.loads(request.parameters())] for request in requests]
    return [answer(numpy.array([[json.dumps(one)]], dtype=object)) for one in told]`;

/** Calls \`told\` with the request's own sequence, and answers with what the call answers or why it is refused. */
const calls = `def execute(self, requests):
    import numpy
    responses = []
    for request in requests:
        try:
            flags = int(array(request)[0][0])
            call = pb_utils.InferenceRequest(
                model_name="told", requested_output_names=["y"], inputs=[tensor(request)],
                correlation_id=request.correlation_id(), flags=flags, parameters={"a": 1},
            )
            said = [call.correlation_id(), call.flags()]
            if flags == 3:
                call.set_flags(pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END)
            response = call.exec()
            value = pb_utils.get_output_tensor_by_name(response, "y").as_numpy()[0][0].decode()
            text = json.dumps(said + json.loads(value))
        except pb_utils.TritonModelException as error:
            text = json.dumps([error.code, str(error)])
        responses.append(answer(numpy.array([[text]], dtype=object)))
    return responses`;

test('a model receives the id and the flags of a request', { skip }, async (t) => {
  const server = await serving(t, { told: script(tells, text) });
  const told = async (options: InferOptions): Promise<unknown> => {
    const { outputs } = await server.infer('told', { x: row() }, options);
    return JSON.parse(outputs['y']?.strings()[0] ?? '') as unknown;
  };
  for (const [sequence, id, flags] of [
    [{ id: 5, start: true }, 5, 1],
    [{ id: 'fünf', end: true }, 'fünf', 2],
    [{ id: '5', start: true, end: true }, '5', 3],
    [{ id: 'é'.repeat(64) }, 'é'.repeat(64), 0],
    [{ id: 0, start: true }, 0, 1],
    [{ id: 0 }, 0, 0],
  ] as const) {
    assert.deepEqual(await told({ sequence }), [id, flags, {}]);
    assert.deepEqual(await told({ sequence, parameters: { a: 'b' } }), [id, flags, { a: 'b' }]);
  }
  const { outputs } = await server.infer('told', { x: row() }, { sequence: { id: 2n ** 64n - 1n } });
  assert.equal(outputs['y']?.strings()[0], '[18446744073709551615, 0, {}]');
  assert.deepEqual(await told({}), [0, 0, {}]);
});

test('requests that are sent together each tell their own', { skip }, async (t) => {
  const server = await serving(t, { told: script(tells, text) });
  const asked = Array.from({ length: 100 }, async (_, i) => {
    const sequence = { id: i % 2 === 0 ? `text ${i}` : i, start: i % 3 === 0 };
    const { outputs } = await server.infer('told', { x: row(i) }, { sequence });
    return JSON.parse(outputs['y']?.strings()[0] ?? '') as unknown;
  });
  for (const [i, told] of (await Promise.all(asked)).entries()) {
    assert.deepEqual(told, [i % 2 === 0 ? `text ${i}` : i, i % 3 === 0 ? 1 : 0, {}]);
  }
});

test(
  'a call has the id and the flags that the model gives it, and wrong ones are refused',
  { skip },
  async (t) => {
    const server = await serving(t, { told: script(tells, text), caller: script(calls, text) });
    const asked = async (flags: number, id: string | number): Promise<unknown> => {
      const { outputs } = await server.infer('caller', { x: row(flags) }, { sequence: { id, start: true } });
      return JSON.parse(outputs['y']?.strings()[0] ?? '') as unknown;
    };
    assert.deepEqual(await asked(0, 7), [7, 0, 7, 0, { a: 1 }]);
    assert.deepEqual(await asked(1, 'ü'), ['ü', 1, 'ü', 1, { a: 1 }]);
    assert.deepEqual(await asked(3, 7), [7, 3, 7, 2, { a: 1 }]);
    assert.deepEqual(await asked(1, 0), [0, 1, 0, 1, { a: 1 }]);
    const [code, message] = (await asked(4, 7)) as [string, string];
    assert.equal(code, 'INVALID_ARG');
    assert.match(message, /^flags: expected a combination of .* but got 4$/);
  },
);

test('ids that are none are refused', { skip }, async (t) => {
  const wrong = `def execute(self, requests):
    import numpy
    said = []
    for given in (-1, 1 << 64, 1.5, None, True, b"a"):
        try:
            pb_utils.InferenceRequest("m", ["y"], [], correlation_id=given)
            said.append("accepted")
        except pb_utils.TritonModelException as error:
            said.append(error.code + " " + str(error))
    return [answer(numpy.array([said], dtype=object)) for _ in requests]`;
  const server = await serving(t, {
    m: script(wrong, { outputs: [{ name: 'y', datatype: 'BYTES', dims: [6] }] }),
  });
  const said = (await server.infer('m', { x: row() })).outputs['y']?.strings() ?? [];
  assert.equal(said.length, 6);
  for (const one of said) assert.match(one, /^INVALID_ARG correlation_id: expected a str or an int from 0/);
});

test('a request runs again until the model is done with it', { skip }, async (t) => {
  const counts = `def execute(self, requests):
    import numpy
    if not hasattr(self, "runs"):
        self.runs = {}
    responses = []
    for request in requests:
        key = request.correlation_id()
        runs = self.runs.get(key, 0) + 1
        if (request.flags() == pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START) != (runs == 1):
            raise ValueError("wrong flags %d in run %d" % (request.flags(), runs))
        self.runs[key] = runs
        if runs == int(array(request)[0][0]):
            responses.append(answer(array(request)))
        else:
            request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
            responses.append(None)
    return responses`;
  const streams = `def execute(self, requests):
    import numpy
    if not hasattr(self, "runs"):
        self.runs = {}
    for request in requests:
        key = request.correlation_id()
        runs = self.runs[key] = self.runs.get(key, 0) + 1
        sender = request.get_response_sender()
        last = runs == int(array(request)[0][0])
        sender.send(answer(numpy.full((1, 16), runs, dtype=numpy.float32)), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if last else 0)
        if not last:
            request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)`;
  const more = 'sequence_batching { iterative_sequence: true oldest { } }';
  const server = await serving(t, {
    counts: script(counts, { batching: false, more }),
    streams: script(streams, {
      batching: false,
      more: `${more} model_transaction_policy { decoupled: true }`,
    }),
  });
  const wanted = [3, 1, 5, 2];
  const answers = await Promise.all(wanted.map((count) => server.infer('counts', { x: row(count) })));
  assert.deepEqual(
    answers.map(({ outputs }) => outputs['y']?.as('FP32').data[0]),
    wanted,
  );
  const read = async (count: number): Promise<number[]> => {
    const found: number[] = [];
    for await (const { outputs } of server.stream('streams', { x: row(count) })) {
      found.push(outputs['y']?.as('FP32').data[0] ?? NaN);
    }
    return found;
  };
  assert.deepEqual(await Promise.all([2, 4, 1].map(read)), [[1, 2], [1, 2, 3, 4], [1]]);
  // A sequence ends with the batch of its last run, whose response is sent before.
  await until(() => server.explain('streams').sequences?.live === 0);
});
