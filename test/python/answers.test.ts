import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TritonError, type InferenceServer } from '../../src/index.js';
import { floats, row, until } from '../support/harness.js';
import { recorded, script, serving, skip } from './harness.js';

/** Ways in which a model that is not decoupled answers by senders. */
const bySenders = {
  'in execute, and returns a list of None': `    for request in requests:
        self.finish(request.get_response_sender(), array(request) + 1)
    return [None] * len(requests)`,
  'in execute, and returns None': `    for request in requests:
        self.finish(request.get_response_sender(), array(request) + 1)`,
  'on threads, and returns a list of None': `    for request in requests:
        given = (request.get_response_sender(), array(request) + 1)
        threading.Thread(target=self.finish, args=given).start()
    return [None] * len(requests)`,
  'in turns with what it returns': `    found = []
    for k, request in enumerate(requests):
        sender, value = request.get_response_sender(), array(request) + 1
        if k % 2 == 0:
            self.finish(sender, value)
        found.append(None if k % 2 == 0 else answer(value))
    return found`,
};

/**
 * Keeps senders and requests that have ended, and uses them during later batches, whose callers must not notice.
 */
const late = `def finish(self, sender, value):
    sender.send(answer(value), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    self.old = getattr(self, "old", [])[-40:] + [sender]

def execute(self, requests):
    for sender in getattr(self, "old", []):
        assert not sender.is_cancelled()
        try:
            sender.send(answer(array(requests[0]) * 0), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        except pb_utils.TritonModelException:
            pass
`;

async function allGetTheirs(server: InferenceServer, name: string): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let k = 0; k < 20; k++) {
      const value = next++;
      const result = await server.infer(name, { x: row(value) });
      assert.deepEqual([...floats(result)], [...row(value + 1)], name);
    }
  };
  await Promise.all(Array.from({ length: 16 }, caller));
}

test('every caller gets its own answer, however a model answers by senders', { skip }, async (t) => {
  const models = Object.entries(bySenders).map(([how, text]): [string, ReturnType<typeof script>] => [
    how.replaceAll(/\W+/g, '_'),
    script(`${late}${text}`, {
      maxBatchSize: 4,
      batching: 'max_queue_delay_microseconds: 200',
      instances: 2,
    }),
  ]);
  const server = await serving(t, Object.fromEntries(models));
  await Promise.all(models.map(([name]) => allGetTheirs(server, name)));
});

/** Responses that cannot be written, for inputs whose first element is negative. */
const unwritable = {
  'a lone surrogate': 'pb_utils.InferenceResponse([pb_utils.Tensor("y", np.array(["\\ud800"], object))])',
  'an object whose str() raises':
    'pb_utils.InferenceResponse([pb_utils.Tensor("y", np.array([Bad()], object))])',
  'an error that has no text': 'pb_utils.InferenceResponse(error=NoText("x"))',
  'an output that there is not': 'answer(np.array(["x"], object), "z")',
  'a response that was not made': 'pb_utils.InferenceResponse.__new__(pb_utils.InferenceResponse)',
};
const bad = `class Bad:
        def __str__(self):
            raise ValueError("no text")
    class NoText(pb_utils.TritonError):
        def message(self):
            raise ValueError("no text")`;
const good = 'pb_utils.InferenceResponse([pb_utils.Tensor("y", np.array(["good"], object))])';
const made = `def made(self, request):
    import numpy as np
    ${bad}
    return BROKEN if array(request).item() < 0 else ${good}
`;
const final = 'flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL';
const ways = {
  returned: 'def execute(self, requests):\n    return [self.made(request) for request in requests]',
  sent: `def execute(self, requests):
    for request in requests:
        request.get_response_sender().send(self.made(request), ${final})
    return [None] * len(requests)`,
  threads: `def execute(self, requests):
    for request in requests:
        given = (request.get_response_sender(), self.made(request))
        threading.Thread(target=self.later, args=given).start()
    return [None] * len(requests)
def later(self, sender, response):
    sender.send(response, ${final})`,
  decoupled: `def execute(self, requests):
    for request in requests:
        given = (request.get_response_sender(), self.made(request))
        threading.Thread(target=self.later, args=given).start()
def later(self, sender, response):
    sender.send(response)
    sender.send(${final})`,
};

for (const [what, broken] of Object.entries(unwritable)) {
  test(`a response that cannot be written fails its request alone: ${what}`, { skip }, async (t) => {
    const models = Object.entries(ways).map(([way, text]): [string, ReturnType<typeof script>] => [
      way,
      script(`${made.replace('BROKEN', broken)}${text}`, {
        inputs: [{ name: 'x', dims: [1] }],
        outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
        maxBatchSize: 0,
        more: way === 'decoupled' ? 'model_transaction_policy { decoupled: true }' : '',
      }),
    ]);
    const server = await serving(t, Object.fromEntries(models));
    const ask = async (name: string, value: number): Promise<string> => {
      const seen: string[] = [];
      try {
        for await (const { outputs } of server.model(name).stream({ x: Float32Array.of(value) }))
          seen.push(String(outputs['y']?.data[0]));
      } catch (error) {
        return error instanceof TritonError ? error.message : `not an error of ours: ${String(error)}`;
      }
      return seen.join();
    };
    await Promise.all(
      models.map(async ([name]) => {
        const answers = await Promise.all([1, -1, 2, -1, 3].map((value) => ask(name, value)));
        assert.deepEqual([answers[0], answers[2], answers[4]], ['good', 'good', 'good'], name);
        for (const text of [answers[1], answers[3]])
          assert.match(
            String(text),
            new RegExp(`^model '${name}'.*(cannot be written|unknown output 'z')`),
            name,
          );
      }),
    );
  });
}

/** Ways in which a decoupled model drops its requests instead of answering them. */
const dropped = {
  'never takes the sender': 'pass',
  'forgets the sender': 'request.get_response_sender().send(answer(array(request)))',
  'leaves it in a circle': 'circle = [request.get_response_sender()]; circle.append(circle)',
  'gives it to a thread that dies':
    'threading.Thread(target=lambda sender: 1 / 0, args=(request.get_response_sender(),)).start()',
};

test('a request whose sender is gone ends with an error that says so', { skip }, async (t) => {
  const models = Object.entries(dropped).map(([how, text]): [string, ReturnType<typeof script>] => [
    how.replaceAll(/\W+/g, '_'),
    script(
      `def execute(self, requests):
    import gc
    for request in requests:
        if array(request)[0, 0] < 0:
            gc.collect()
            request.get_response_sender().send(${final})
        else:
            ${text}`,
      { more: 'model_transaction_policy { decoupled: true }', maxBatchSize: 1 },
    ),
  ]);
  const server = await serving(t, Object.fromEntries(models));
  const ask = async (name: string, value: number): Promise<unknown> => {
    for await (const result of server.model(name).stream({ x: row(value) })) void result;
    return undefined;
  };
  for (const [name] of models) {
    const first = ask(name, 1).catch((error: unknown) => error);
    // Makes Python's garbage collector free reference cycles.
    await ask(name, -100);
    assert.match(String(await first), /no answer: the model dropped (the request|its response sender)/, name);
  }
});

test('what a model raises after its last answer reaches the log with its traceback', { skip }, async (t) => {
  const { logger, lines } = recorded();
  const model = script(`def execute(self, requests):
    for request in requests:
        request.get_response_sender().send(answer(array(request)), ${final})
    raise ValueError("too late")`);
  const server = await serving(t, { late: model }, { logger });
  assert.deepEqual([...floats(await server.infer('late', { x: row(2) }))], [...row(2)]);
  await until(() =>
    lines.some((line) => /^error: .*after its last response[^]*model.py[^]*too late/.test(line)),
  );
});

test(
  'an exception class of the model with a code of its own fails its batch alone, as INTERNAL',
  { skip },
  async (t) => {
    const server = await serving(t, {
      m: script(`class Own(pb_utils.TritonModelException):
    def __init__(self, code):
        super().__init__("own")
        self.code = self.reason = code

def execute(self, requests):
    value = array(requests[0]).flat[0]
    if value < 0:
        raise self.Own(404 if value == -1 else [])
    return [answer(array(request)) for request in requests]`),
    });
    for (const value of [-1, -2]) {
      const error = await server.infer('m', { x: row(value) }).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof TritonError && error.code === 'INTERNAL', String(error));
      assert.match(error.message, /own$/);
    }
    assert.deepEqual([...floats(await server.infer('m', { x: row(3) }))], [...row(3)]);
  },
);

test('a question that cannot be asked raises, and leaves nothing for the next one', { skip }, async (t) => {
  const server = await serving(t, {
    m: script(`def initialize(self, args):
    family = pb_utils.MetricFamily(name="question_gauge", description="d", kind=pb_utils.MetricFamily.GAUGE)
    self.metric = family.Metric(labels={})

def execute(self, requests):
    raised = 0
    for value in (float("nan"), float("inf")):
        try:
            self.metric.set(value)
        except pb_utils.TritonModelException:
            raised += 1
    try:
        pb_utils.load_model("other", files={"file:1/model.py": b"never", "file:1/readme": "a str"})
    except pb_utils.TritonModelException as error:
        raised += 10 if "1/readme" in str(error) else 0
    try:
        pb_utils.load_model("unknown")
    except pb_utils.TritonModelException as error:
        raised += 100 if "modelControlMode" in str(error) else 0
    return [answer(array(request) * 0 + raised) for request in requests]`),
  });
  assert.equal(floats(await server.infer('m', { x: row(1) }))[0], 112);
});

test(
  'a model that takes requests off its list has its other requests answered in halves',
  { skip },
  async (t) => {
    const server = await serving(t, {
      m: script(
        `def execute(self, requests):
    responses = []
    while requests:
        value = array(requests.pop(0))
        if value.flat[0] == 7:
            raise ValueError("seven")
        responses.append(answer(value))
    return responses`,
        {
          maxBatchSize: 8,
          batching: 'max_queue_delay_microseconds: 50000',
          parameters: { rerun_in_halves: 'true' },
        },
      ),
    });
    const answers = await Promise.allSettled(
      [1, 2, 7, 3, 4].map((value) => server.infer('m', { x: row(value) })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
    const failed = answers[2];
    assert.ok(failed?.status === 'rejected');
    assert.equal((failed.reason as Error).message, "model 'm': ValueError: seven");
  },
);

test('a result that is no response fails its request alone', { skip }, async (t) => {
  const server = await serving(t, {
    m: script(
      `def execute(self, requests):
    results = []
    for request in requests:
        value = array(request)
        try:
            results.append("text" if value.flat[0] == 7 else pb_utils.InferenceResponse([None] if value.flat[0] == 8 else [pb_utils.Tensor("y", value)]))
        except pb_utils.TritonModelException as error:
            results.append(pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error))))
    return results`,
      { maxBatchSize: 8, batching: 'max_queue_delay_microseconds: 50000' },
    ),
  });
  const answers = await Promise.allSettled([1, 7, 8, 2].map((value) => server.infer('m', { x: row(value) })));
  const texts = answers.map((one) =>
    one.status === 'fulfilled' ? floats(one.value)[0] : String(one.reason),
  );
  assert.deepEqual([texts[0], texts[3]], [1, 2]);
  assert.match(String(texts[1]), /result \d is a str/);
  assert.match(String(texts[2]), /expected pb_utils\.Tensor objects but got NoneType/);
});
