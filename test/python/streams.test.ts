import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer } from '../../src/index.js';
import { floats, rejection, row } from '../support/harness.js';
import { script, serving, skip } from './harness.js';

const decoupled = { more: 'model_transaction_policy { decoupled: true }' };
const final = 'pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL';

async function firsts(
  server: InferenceServer,
  model: string,
  first: number,
): Promise<(number | undefined)[]> {
  const all = [];
  for await (const result of server.model(model).stream({ x: row(first) })) all.push(floats(result)[0]);
  return all;
}

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, k) => k + from);

test('a decoupled model sends as many responses as it wants, from execute', { skip }, async (t) => {
  const text = `def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        count = int(array(request)[0, 0])
        for k in range(count):
            sender.send(answer(array(request) * 0 + k), flags=${final} if k == count - 1 else 0)
        if count == 0:
            sender.send(flags=${final})`;
  const server = await serving(t, { repeat: script(text, decoupled) });
  for (const count of [0, 1, 3, 100]) assert.deepEqual(await firsts(server, 'repeat', count), numbers(count));
  const together = await Promise.all(numbers(20).map((count) => firsts(server, 'repeat', count)));
  together.forEach((seen, count) => {
    assert.deepEqual(seen, numbers(count));
  });
});

test(
  'responses come from threads after execute has returned, and the next batch runs meanwhile',
  { skip },
  async (t) => {
    const text = `def execute(self, requests):
    for request in requests:
        value = array(request).copy()
        threading.Thread(target=self.respond, args=(request.get_response_sender(), value)).start()

def respond(self, sender, value):
    for k in range(int(value[0, 0])):
        time.sleep(0.001)
        sender.send(answer(value * 0 + k))
    sender.send(flags=${final})`;
    const server = await serving(t, { threads: script(text, decoupled) });
    const seen = await Promise.all([30, 1, 0, 20].map((count) => firsts(server, 'threads', count)));
    assert.deepEqual(seen, [numbers(30), numbers(1), [], numbers(20)]);
  },
);

test('an asynchronous decoupled model runs batches beside each other', { skip }, async (t) => {
  const text = `import asyncio
waiting = []
async def execute(self, requests):
    for request in requests:
        sender, value = request.get_response_sender(), array(request).copy()
        # Each waits until there are three.
        self.waiting.append(value)
        while len(self.waiting) < 3:
            await self.asyncio.sleep(0.001)
        sender.send(answer(value + 1))
        sender.send(flags=${final})`;
  const server = await serving(t, { meet: script(text, { ...decoupled, maxBatchSize: 1 }) });
  const seen = await Promise.all([1, 2, 3].map((k) => firsts(server, 'meet', k)));
  assert.deepEqual(seen, [[2], [3], [4]]);
});

test('a model that is not decoupled may answer with a response sender', { skip }, async (t) => {
  const text = `def execute(self, requests):
    for request in requests:
        sender, value = request.get_response_sender(), array(request).copy()
        def respond(sender=sender, value=value):
            sender.send(answer(value + 1), flags=${final})
            try:
                sender.send(answer(value + 2), flags=${final})
            except pb_utils.TritonModelException:
                pass
        if value[0, 0] == 1:
            respond()
        else:
            threading.Timer(0.01, respond).start()`;
  const server = await serving(t, { add: script(text) });
  const results = await Promise.all(numbers(8).map((k) => server.infer('add', { x: row(k) })));
  results.forEach((result, k) => {
    assert.deepEqual(floats(result), [...row(k + 1)]);
  });
});

test('a slow reader holds the model back, and loses nothing', { skip }, async (t) => {
  const text = `sent = 0
def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        if array(request)[0, 0] < 0:
            sender.send(answer(array(request) * 0 + TritonPythonModel.sent), flags=${final})
        else:
            threading.Thread(target=self.respond, args=(sender, array(request).copy())).start()

def respond(self, sender, value):
    for k in range(1000):
        sender.send(answer(value * 0 + k))
        TritonPythonModel.sent = k + 1
    sender.send(flags=${final})`;
  const server = await serving(t, { many: script(text, decoupled) });
  const seen = [];
  for await (const result of server.model('many').stream({ x: row(0) })) {
    seen.push(floats(result)[0]);
    if (seen.length !== 3) continue;
    // The model may only be a limited number of responses ahead of the reader.
    let last = -1;
    for (;;) {
      const [sent = 0] = await firsts(server, 'many', -1);
      if (sent === last) break;
      last = sent;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(last < 100, `${last} were sent`);
  }
  assert.deepEqual(seen, numbers(1000));
});

test('a stream that its model never ends is ended by its signal or an unload', { skip }, async (t) => {
  const text = `kept = []
def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        sender.send(answer(array(request)))
        self.kept.append(sender)`;
  const server = await serving(
    t,
    { open: script(text, decoupled) },
    { modelControlMode: 'explicit', loadModels: ['open'], workers: { unloadTimeoutMs: 200 } },
  );
  const model = server.model('open');
  const abort = new AbortController();
  const given: unknown[] = [];
  const error = await rejection(
    (async () => {
      for await (const result of model.stream({ x: row(1) }, { signal: abort.signal })) {
        given.push(floats(result)[0]);
        abort.abort();
      }
    })(),
  );
  assert.equal(error.code, 'CANCELLED');
  assert.deepEqual(given, [1]);
  // The instance goes on to the next batch, whose stream ends only with the unload.
  const stream = model.stream({ x: row(2) })[Symbol.asyncIterator]();
  const first = await stream.next();
  assert.ok(first.done !== true);
  assert.equal(floats(first.value)[0], 2);
  const rest = rejection(stream.next());
  await server.unloadModel('open').catch(() => undefined);
  assert.match((await rest).code, /^(CANCELLED|UNAVAILABLE)$/);
});

test('a model learns that its caller has left, and what it sends then is dropped', { skip }, async (t) => {
  const text = `ended = 0
def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        if array(request)[0, 0] < 0:
            sender.send(answer(array(request) * 0 + TritonPythonModel.ended), flags=${final})
        else:
            threading.Thread(target=self.respond, args=(sender, array(request).copy())).start()

def respond(self, sender, value):
    while not sender.is_cancelled():
        sender.send(answer(value))
    sender.send(answer(value))
    sender.send(flags=${final})
    TritonPythonModel.ended += 1`;
  const server = await serving(t, { ever: script(text, decoupled) });
  for (let k = 1; k <= 3; k++) {
    for await (const result of server.model('ever').stream({ x: row(k) })) {
      assert.equal(floats(result)[0], k);
      break;
    }
    for (;;) {
      const [ended] = await firsts(server, 'ever', -1);
      if (ended === k) break;
    }
  }
});

test(
  'what execute of a decoupled model raises or returns ends its streams with errors',
  { skip },
  async (t) => {
    const text = `def execute(self, requests):
    if array(requests[0])[0, 0] == 1:
        raise ValueError("no")
    sender = requests[0].get_response_sender()
    sender.send(answer(array(requests[0])))
    if array(requests[0])[0, 0] == 2:
        raise ValueError("after all")
    if array(requests[0])[0, 0] == 3:
        return [answer(array(requests[0]))]
    sender.send(flags=${final})`;
    const server = await serving(t, { bad: script(text, { ...decoupled, maxBatchSize: 1 }) });
    assert.match((await rejection(firsts(server, 'bad', 1))).message, /ValueError: no/);
    assert.match((await rejection(firsts(server, 'bad', 2))).message, /after all/);
    assert.match((await rejection(firsts(server, 'bad', 3))).message, /decoupled model to return None/);
    assert.deepEqual(await firsts(server, 'bad', 4), [4]);
  },
);
