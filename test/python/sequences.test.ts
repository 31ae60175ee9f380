/** Python models see the sequences of requests, and may give sequences to their calls. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferOptions } from '../../src/index.js';
import { row } from '../support/harness.js';
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
