// Own process: it measures the memory of the process.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { floats, identity, row, until } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { script, serving, skip } from './harness.js';

/** Every message that a process sends: python/tritonts_stub/memory.py. */
const kinds = ['ANSWER', 'PART', 'CALL', 'NEXT', 'CANCEL', 'READ', 'ASK_CANCELLED', 'ASK_ROOM'] as const;

/** Violations that replace a message, the first time. */
const harms = {
  'ends before it': 'os.kill(os.getpid(), 9)',
  'ends after it': 'original(self, kind, *rest, **named); os.kill(os.getpid(), 9)',
  'sends one that points nowhere': 'original(self, kind, 0, 2**63 + 1, 2**40, 2**63 + 3)',
  'sends one with places out of line': 'original(self, kind, 0, self.size - 4, 3, self.size - 2)',
  'sends one of no kind': 'original(self, 4000000000, 0, 1, 1, 1)',
  'claims all memory': 'original(self, kind, 0, self.size // 2, (self.size // 2 - 64) // 8, self.size // 2)',
} as const;

/** A model that sends each kind of message in each request. */
const everything = `def initialize(self, args):
    from tritonts_stub import memory
    parameters = json.loads(args["model_config"])["parameters"]
    harmed, file = getattr(memory, parameters["kind"]["string_value"]), parameters["file"]["string_value"]
    self.parted = threading.Event()
    original, parted = memory.Memory.send, self.parted
    def send(self, kind, *rest, **named):
        if kind == harmed and not os.path.exists(file):
            open(file, "w").close()
            HARM
        original(self, kind, *rest, **named)
        if kind == memory.PART:
            parted.set()
    memory.Memory.send = send

def execute(self, requests):
    self.parted.clear()
    for request in requests:
        request.is_cancelled()
        x = tensor(request)
        same = pb_utils.InferenceRequest("same", ["y"], [x]).exec()
        assert not same.has_error(), same.error().message()
        stream = pb_utils.InferenceRequest("counts", ["y"], [x]).exec(decoupled=True)
        next(stream)
        stream.cancel()
        sender, value = request.get_response_sender(), array(request) + 1
        for _ in range(3):
            sender.send(answer(value))
        threading.Thread(target=self.finish, args=(sender,)).start()

def finish(self, sender):
    self.parted.wait()
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`;

const counts = `def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        for _ in range(50):
            sender.send(answer(array(request)))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`;

const decoupled = { more: 'model_transaction_policy { decoupled: true }', maxBatchSize: 1 };

for (const [how, harm] of Object.entries(harms)) {
  test(`a process that ${how} harms its own request alone, at each kind of message`, { skip }, async (t) => {
    const folder = await temporaryFolder(t);
    const model = (kind: string) => {
      const parameters = { kind, file: join(folder, kind) };
      return script(everything.replace('HARM', harm), { ...decoupled, parameters });
    };
    const server = await serving(t, {
      same: identity(),
      counts: script(counts, decoupled),
      ...Object.fromEntries(kinds.map((kind) => [kind, model(kind)])),
    });
    const ask = async (kind: string): Promise<number[][]> => {
      const seen = [];
      for await (const result of server.model(kind).stream({ x: row(5) })) seen.push([...floats(result)]);
      return seen;
    };
    const right = Array.from({ length: 3 }, () => [...row(6)]);
    await Promise.all(
      kinds.map(async (kind) => {
        const outcome = await ask(kind).catch((error: unknown) => error);
        if (Array.isArray(outcome)) assert.deepEqual(outcome, right, kind);
        else
          assert.match(String(outcome), /UNAVAILABLE|ended while it ran|protocol violation|INTERNAL/, kind);
        // Later requests are answered normally.
        for (let k = 0; k < 3; k++) assert.deepEqual(await ask(kind), right, kind);
      }),
    );
  });
}

/** A model whose process ends, the first time, after it has received a message of this kind from the server. */
const taken = `def initialize(self, args):
    from tritonts_stub import memory
    parameters = json.loads(args["model_config"])["parameters"]
    harmed, file = getattr(memory, parameters["kind"]["string_value"]), parameters["file"]["string_value"]
    original = memory.Memory.next
    def next(self):
        message = original(self)
        if message.kind == harmed and not os.path.exists(file):
            open(file, "w").close()
            os.kill(os.getpid(), 9)
        return message
    memory.Memory.next = next

def is_ready(self):
    return True

def execute(self, requests):
    return [answer(array(request) + 1) for request in requests]`;

test(
  'a process that ends as it takes a message harms what the message asks for alone',
  { skip },
  async (t) => {
    const folder = await temporaryFolder(t);
    const files = (['EXECUTE', 'ASK_READY', 'STOP'] as const).map((kind) => join(folder, kind));
    const models = ['EXECUTE', 'ASK_READY', 'STOP'].map((kind): [string, ReturnType<typeof script>] => [
      kind,
      script(taken, { parameters: { kind, file: join(folder, kind) } }),
    ]);
    const server = await serving(t, Object.fromEntries(models), {
      modelControlMode: 'explicit',
      loadModels: ['*'],
    });
    const ask = async (kind: string): Promise<number[]> => [
      ...floats(await server.infer(kind, { x: row(5) })),
    ];
    const right = [...row(6)];

    await assert.rejects(ask('EXECUTE'), { code: 'UNAVAILABLE', message: /EXECUTE.*ended while it ran/ });
    assert.deepEqual(await ask('EXECUTE'), right);

    assert.equal(await server.model('ASK_READY').checkReady(), false);
    assert.deepEqual(await ask('ASK_READY'), right);
    await until(() => server.model('ASK_READY').checkReady());

    assert.deepEqual(await ask('STOP'), right);
    await server.unloadModel('STOP');
    await assert.rejects(ask('STOP'), { code: 'NOT_FOUND' });
    await server.loadModel('STOP');
    assert.deepEqual(await ask('STOP'), right);
    assert.deepEqual(
      files.map((file) => existsSync(file)),
      [true, true, true],
    );
  },
);

test(
  'outputs that are larger than the memory that there is end the process, not Node',
  { skip },
  async (t) => {
    const text = `def execute(self, requests):
    from tritonts_stub import memory
    file = self.file
    if os.path.exists(file):
        return [answer(array(request)) for request in requests]
    open(file, "w").close()
    place = self.memory.size // 2
    words = [1, 0, 1, 1, 0, 11, 1, 2**31, 2**33, place]
    here = self.memory.allocate(1024)
    self.memory.put_words(here, words)
    self.memory.send(memory.ANSWER, requests[0]._batch.number, here, len(words), 1, here)
    time.sleep(60)
def initialize(self, args):
    from tritonts_stub import instance
    self.memory = instance.current().memory
    self.file = json.loads(args["model_config"])["parameters"]["file"]["string_value"]`;
    const file = join(await temporaryFolder(t), 'done');
    const server = await serving(t, { huge: script(text, { parameters: { file } }) });
    const before = process.memoryUsage().rss;
    const outcome = await server.infer('huge', { x: row() }).catch((error: unknown) => error);
    assert.match(String(outcome), /ended while it ran this request|cannot be/);
    assert.ok(process.memoryUsage().rss - before < 2 ** 30);
    assert.deepEqual(floats(await server.infer('huge', { x: row(3) })), [...row(3)]);
  },
);
