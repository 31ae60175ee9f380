import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestParameters } from '../../src/index.js';
import { floats, rejection, row } from '../support/harness.js';
import { script, serving, skip } from './harness.js';

/** Gives back the parameters of each request with its response, and the number of requests of its batch. */
const returning = `def execute(self, requests):
    return [self.answer(request, len(requests)) for request in requests]
def answer(self, request, together):
    parameters = json.loads(request.parameters())
    response = pb_utils.InferenceResponse(
        [pb_utils.Tensor("y", array(request))], parameters={**parameters, "together": together})
    assert json.loads(response.parameters()) == {**parameters, "together": together}
    return response`;

const all: RequestParameters = {
  text: 'ä\0b',
  empty: '',
  whole: -7,
  large: 2n ** 63n - 1n,
  real: 0.25,
  flag: true,
  off: false,
};

test('a result has the parameters that its model returned, each request its own', { skip }, async (t) => {
  const server = await serving(t, { m: script(returning) });
  await server.infer('m', { x: row() });
  const asked = Array.from({ length: 8 }, (_, i) =>
    server.infer('m', { x: row(i) }, { parameters: { ...all, i } }),
  );
  for (const [i, result] of (await Promise.all(asked)).entries()) {
    assert.deepEqual(floats(result), [...row(i)]);
    const { together, ...rest } = result.parameters;
    assert.equal(typeof together, 'number');
    assert.deepEqual(rest, { ...all, i });
  }
});

test('a response may have nothing but flags, up to the limit', { skip }, async (t) => {
  // Each takes 20 bytes of the limit, but 24 on the way from the process.
  const text = `def execute(self, requests):
    parameters = {"%04d" % i: i % 2 == 0 for i in range(3276)}
    return [pb_utils.InferenceResponse([pb_utils.Tensor("y", array(request))], parameters=parameters)
            for request in requests]`;
  const server = await serving(t, { m: script(text) });
  const { parameters } = await server.infer('m', { x: row() });
  assert.equal(Object.keys(parameters).length, 3276);
  assert.deepEqual([parameters['0000'], parameters['3275']], [true, false]);
});

test('responses of senders have parameters, and large ones too', { skip }, async (t) => {
  const text = `def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        for k in range(5):
            parameters = {"k": k, "text": "x" * 50_000} if k != 3 else None
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("y", array(request) + k)], parameters=parameters))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`;
  const decoupled = { more: 'model_transaction_policy { decoupled: true }' };
  const server = await serving(t, { m: script(text, decoupled) });
  const seen: unknown[] = [];
  for await (const result of server.stream('m', { x: row() })) {
    const { k, text: given } = result.parameters;
    seen.push([floats(result)[0], k, typeof given === 'string' ? given.length : given]);
  }
  const first = row()[0] ?? 0;
  assert.deepEqual(
    seen,
    [0, 1, 2, 3, 4].map((k) => [first + k, k === 3 ? undefined : k, k === 3 ? undefined : 50_000]),
  );
});

test('a model that calls another gets its parameters, and passes the response on', { skip }, async (t) => {
  const calling = `def execute(self, requests):
    responses = []
    for request in requests:
        inner = pb_utils.InferenceRequest("m", ["y"], [tensor(request)], parameters={"n": 5})
        response = inner.exec()
        if len(responses) == 0 and json.loads(request.parameters()).get("anew"):
            told = json.loads(response.parameters())
            response = pb_utils.InferenceResponse(response.output_tensors(), parameters={"told": json.dumps(told)})
        responses.append(response)
    return responses`;
  const server = await serving(t, { m: script(returning), caller: script(calling) });
  assert.deepEqual((await server.infer('caller', { x: row() })).parameters, { n: 5, together: 1 });
  const { parameters } = await server.infer('caller', { x: row() }, { parameters: { anew: true } });
  assert.deepEqual(parameters, { told: '{"n": 5, "together": 1}' });
});

test(
  'parameters that a model must not return are refused where it makes the response',
  { skip },
  async (t) => {
    const text = `def execute(self, requests):
    import numpy
    said = []
    for parameters in (
        ["a"], {"a": None}, {"b": []}, {"c": 1 << 63}, {5: "d"}, {"e": "x" * 70_000}, {"f": "\\ud800"},
        {str(i): True for i in range(5000)},
    ):
        try:
            pb_utils.InferenceResponse([], parameters=parameters)
            said.append("accepted")
        except pb_utils.TritonModelException as error:
            said.append(error.code + " " + str(error))
    return [answer(numpy.array([said], dtype=object)) for _ in requests]`;
    const server = await serving(t, {
      told: script(text, { outputs: [{ name: 'y', datatype: 'BYTES', dims: [8] }] }),
    });
    const said = (await server.infer('told', { x: row() })).outputs['y']?.strings() ?? [];
    const expected = [
      /expected a dict or its JSON but got list/,
      /parameter 'a': expected a str, int, float or bool but got NoneType/,
      /parameter 'b'.* but got list/,
      /parameter 'c': expected an int of 64 bits/,
      /names of type str but got 5/,
      /at most 65536 bytes for a response but got 70016/,
      /text that UTF-8 can encode/,
      /at most 65536 bytes for a response but got 100000/,
    ];
    assert.equal(said.length, expected.length);
    for (const [i, message] of expected.entries()) {
      assert.match(said[i] ?? '', /^INVALID_ARG /);
      assert.match(said[i] ?? '', message);
    }
  },
);

test('a name with a zero character is refused where the model gives it', { skip }, async (t) => {
  const text = `def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("y", array(request))], parameters={"a\\0b": 1})
            for request in requests]`;
  const server = await serving(t, { m: script(text) });
  const error = await rejection(server.infer('m', { x: row() }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /parameters: expected names without a zero character but got 'a\\x00b'/);
});
