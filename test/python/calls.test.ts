import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { floats, identity, onnx, rejection, row, until } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { adds, script, serving, skip } from './harness.js';

/** Calls the model named by its parameter for each request, and adds 10 to the result. */
const calls = (how: string): string => `def initialize(self, args):
    self.called = json.loads(args["model_config"])["parameters"]["calls"]["string_value"]
${how}`;
const sync = `def execute(self, requests):
    responses = []
    for request in requests:
        call = pb_utils.InferenceRequest(model_name=self.called, requested_output_names=["y"], inputs=[tensor(request)])
        response = call.exec()
        if response.has_error():
            responses.append(pb_utils.InferenceResponse(error=response.error()))
        else:
            responses.append(answer(pb_utils.get_output_tensor_by_name(response, "y").as_numpy() + 10))
    return responses`;

test('a model calls others: in Python, ONNX and identity', { skip }, async (t) => {
  const server = await serving(t, {
    add: script(adds),
    onnx: onnx(),
    same: identity(),
    ...Object.fromEntries(
      ['add', 'onnx', 'same'].map((name) => [
        `to_${name}`,
        script(calls(sync), { parameters: { calls: name } }),
      ]),
    ),
  });
  for (let k = 0; k < 5; k++) {
    assert.deepEqual(floats(await server.infer('to_add', { x: row(k) })), [...row(k + 11)]);
    assert.deepEqual(floats(await server.infer('to_same', { x: row(k) })), [...row(k + 10)]);
    const direct = floats(await server.infer('onnx', { x: row(k) }));
    assert.deepEqual(
      floats(await server.infer('to_onnx', { x: row(k) })),
      direct.map((value) => value + 10),
    );
  }
});

test('errors of a call come to the model, with their codes', { skip }, async (t) => {
  const server = await serving(t, {
    broken: script('def execute(self, requests):\n    raise ValueError("no")'),
    small: identity({ inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [4] }] }),
    other: identity({ inputs: [{ name: 'z' }], outputs: [{ name: 'y' }] }),
    ...Object.fromEntries(
      ['broken', 'small', 'other', 'absent'].map((name) => [
        `to_${name}`,
        script(calls(sync), { parameters: { calls: name } }),
      ]),
    ),
  });
  const said = async (name: string): Promise<string> => {
    const { code, message } = await rejection(server.infer(name, { x: row() }));
    return `${code} ${message}`;
  };
  assert.match(await said('to_broken'), /^INTERNAL .*ValueError: no/);
  assert.match(await said('to_small'), /^INVALID_ARG .*small.*\[-1,4\]/s);
  assert.match(await said('to_other'), /^INVALID_ARG .*no input 'x'.*has z/);
  assert.match(await said('to_absent'), /^NOT_FOUND .*absent/);
});

test('a call that waits for itself is refused', { skip }, async (t) => {
  const server = await serving(t, { loop: script(calls(sync), { parameters: { calls: 'loop' } }) });
  const error = await rejection(server.infer('loop', { x: row() }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /loop → loop/);
});

test('calls are awaited together', { skip }, async (t) => {
  const text = `import asyncio
async def execute(self, requests):
    responses = []
    for request in requests:
        calls = [
            pb_utils.InferenceRequest(self.called, ["y"], [pb_utils.Tensor("x", array(request) + k)]).async_exec()
            for k in range(3)
        ]
        given = [pb_utils.get_output_tensor_by_name(one, "y").as_numpy() for one in await self.asyncio.gather(*calls)]
        responses.append(answer(sum(given)))
    return responses`;
  const server = await serving(t, {
    add: script(adds),
    three: script(calls(text), { parameters: { calls: 'add' } }),
  });
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, k) => server.infer('three', { x: row(k) })),
  );
  results.forEach((result, k) => {
    assert.deepEqual(
      floats(result),
      [...row(k)].map((value) => 3 * value + 6),
    );
  });
});

test('a model reads the responses of a decoupled one, and may stop', { skip }, async (t) => {
  const repeats = `def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        for k in range(int(array(request)[0, 0])):
            if request.is_cancelled():
                break
            sender.send(answer(array(request) + k))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`;
  const sums = `def execute(self, requests):
    responses = []
    for request in requests:
        total, count = 0, 0
        for response in pb_utils.InferenceRequest("repeat", ["y"], [tensor(request)]).exec(decoupled=True):
            total = total + pb_utils.get_output_tensor_by_name(response, "y").as_numpy()
            count += 1
            if count == 100:
                break
        responses.append(answer(total))
    return responses`;
  const server = await serving(t, {
    repeat: script(repeats, { more: 'model_transaction_policy { decoupled: true }' }),
    sum: script(sums),
    single: script(calls(sync), { parameters: { calls: 'repeat' } }),
  });
  const first = async (n: number): Promise<number | undefined> =>
    floats(await server.infer('sum', { x: row(n) }))[0];
  assert.equal(await first(3), 3 + 4 + 5);
  assert.equal(await first(1), 1);
  assert.equal(await first(60), 60 * 60 + (59 * 60) / 2);
  // It leaves a stream in the middle, and the next call works.
  assert.equal(await first(5000), 100 * 5000 + (99 * 100) / 2);
  assert.equal(await first(2), 5);
  const error = await rejection(server.infer('single', { x: row(2) }));
  assert.equal(error.code, 'UNSUPPORTED');
  await until(() => server.index().every(({ state }) => state === 'READY'));
});

test('the newest version is called after a reload', { skip }, async (t) => {
  const server = await serving(
    t,
    { add: script(adds), call: script(calls(sync), { parameters: { calls: 'add' } }) },
    { modelControlMode: 'explicit', loadModels: ['*'] },
  );
  assert.deepEqual(floats(await server.infer('call', { x: row() })), [...row(11)]);
  for (let k = 0; k < 3; k++) {
    const config = {
      ...server.model('add').config,
      version_policy: undefined,
      parameters: { k: { string_value: String(k) } },
    };
    await server.loadModel('add', { config: JSON.stringify(config) });
    assert.deepEqual(floats(await server.infer('call', { x: row(k) })), [...row(k + 11)]);
  }
});

test('a model loads, asks about and unloads others', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    said = [pb_utils.is_model_ready("add")]
    pb_utils.load_model("add")
    said.append(pb_utils.is_model_ready("add", "1"))
    pb_utils.unload_model("add")
    said.append(pb_utils.is_model_ready("add"))
    try:
        pb_utils.load_model("absent")
    except pb_utils.TritonModelException as error:
        said.append(error.code)
    return [answer(numpy.array([[str(one) for one in said]], dtype=object)) for _ in requests]`;
  const server = await serving(
    t,
    { add: script(adds), control: script(text, { outputs: [{ name: 'y', datatype: 'BYTES', dims: [4] }] }) },
    { modelControlMode: 'explicit', loadModels: ['control'] },
  );
  const { outputs } = await server.infer('control', { x: row() });
  assert.deepEqual(outputs['y']?.strings(), ['False', 'True', 'False', 'NOT_FOUND']);
});

test('models are not called from initialize', { skip }, async (t) => {
  const text = `def initialize(self, args):
    import numpy
    x = pb_utils.Tensor("x", numpy.zeros((1, 16), dtype="float32"))
    response = pb_utils.InferenceRequest("same", ["y"], [x]).exec()
    raise pb_utils.TritonModelException(response.error().message())
${adds}`;
  const error = await rejection(serving(t, { same: identity(), early: script(text) }));
  const causes =
    error.cause instanceof AggregateError ? error.cause.errors.map(String).join() : error.message;
  assert.match(causes, /not from initialize/);
});

test('a process that a model has forked leaves its memory and its calls alone', { skip }, async (t) => {
  const server = await serving(t, {
    same: identity(),
    forks: script(`def execute(self, requests):
    call = pb_utils.InferenceRequest(model_name="same", requested_output_names=["y"], inputs=[tensor(requests[0])])
    # Nothing but a collection destroys the answer.
    ring = {"answer": call.exec()}
    ring["self"] = ring
    del ring
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            import gc
            gc.collect()
            pb_utils.Logger.log_info("of a child")
            call.exec()
        except Exception as error:
            os.write(writable, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writable)
    said = os.read(readable, 4096).decode()
    os.close(readable)
    assert "that the model forked" in said, said
    return [answer(tensor(request).as_numpy()) for request in requests]`),
  });
  for (let k = 0; k < 5; k++) {
    assert.deepEqual(floats(await server.infer('forks', { x: row(k) })), [...row(k)]);
  }
});

test('a call while the server closes is UNAVAILABLE', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const server = await serving(t, {
    add: onnx(),
    late: script(`def execute(self, requests):
    folder = ${JSON.stringify(folder)}
    open(os.path.join(folder, "begun"), "w").close()
    while not os.path.exists(os.path.join(folder, "closing")):
        time.sleep(0.01)
    call = pb_utils.InferenceRequest(model_name="add", requested_output_names=["y"], inputs=[tensor(requests[0])])
    response = call.exec()
    return [pb_utils.InferenceResponse(error=response.error()) for _ in requests]`),
  });
  const late = rejection(server.infer('late', { x: row() }));
  await until(() => existsSync(join(folder, 'begun')));
  const closed = server.close();
  await writeFile(join(folder, 'closing'), '');
  await closed;
  const error = await late;
  assert.equal(error.code, 'UNAVAILABLE', error.message);
});
