// Own process: it counts the page faults of the process.
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { anyLength, until } from '../support/harness.js';
import { script, serving, skip } from './harness.js';

/** Elements of a tensor of 602 KB. */
const many = 3 * 224 * 224;

function counting(length: number, from: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => (i + from) % 1000);
}

test(
  'large inputs that are passed on, cut or written to come out as the model left them',
  { skip },
  async (t) => {
    const half = many / 2;
    const outputs = ['same', 'middle', 'twice', 'steps', 'written'].map((name) => ({ name, dims: [-1] }));
    const text = `def execute(self, requests):
    responses = []
    for request in requests:
        x, z = array(request), array(request, "z")
        z += 1
        give = {"same": x, "middle": x[:, 100:-100] if len(x) > 1 else x[:1, 100:-100], "twice": x + x,
            "steps": x[:, ::2], "written": z}
        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor(name, value) for name, value in give.items()]))
    return responses`;
    const inputs = ['x', 'z'].map((name) => ({ name, dims: [-1] }));
    const batching = 'preferred_batch_size: [ 6 ] max_queue_delay_microseconds: 1000000';
    const server = await serving(t, { parts: script(text, { inputs, outputs, batching }) });
    const answers = await Promise.all(
      [0, 1, 2, 3].map(async (from) => {
        const rows = from === 2 ? 3 : 1;
        const data = counting(rows * many, from);
        const { outputs: got } = await server.infer('parts', {
          x: { data, shape: [rows, many] },
          z: { data, shape: [rows, many] },
        });
        return { rows, data, of: (name: string) => got[name]?.as('FP32').data ?? new Float32Array() };
      }),
    );
    for (const { rows, data, of } of answers) {
      assert.deepEqual(of('same'), data);
      assert.deepEqual(
        of('twice'),
        data.map((value) => 2 * value),
      );
      assert.deepEqual(
        of('written'),
        data.map((value) => value + 1),
      );
      const each = Array.from({ length: rows }, (_, k) => data.subarray(k * many, (k + 1) * many));
      assert.deepEqual(
        [...of('middle')],
        each.flatMap((row) => [...row.subarray(100, many - 100)]),
      );
      assert.equal(of('steps').length, rows * half);
      assert.equal(of('steps')[half - 1], each[0]?.[many - 2]);
    }
  },
);

test('what a model sends is what it was when it was sent', { skip }, async (t) => {
  const text = `def execute(self, requests):
    for request in requests:
        sender, x = request.get_response_sender(), tensor(request)
        for k in range(20):
            x.as_numpy()[:] = k
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("y", x) if k % 2 else pb_utils.Tensor("y", x.as_numpy())]))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`;
  const more = 'model_transaction_policy { decoupled: true }';
  const server = await serving(t, { writes: script(text, { ...anyLength, more }) });
  const seen: number[] = [];
  const x = { data: new Float32Array(many), shape: [1, many] };
  for await (const { outputs } of server.model('writes').stream({ x })) {
    const { data } = outputs['y']?.as('FP32') ?? { data: [] };
    assert.ok(data.every((value: number) => value === data[0]));
    seen.push(data[0] ?? -1);
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, k) => k),
  );
});

test('large tensors take no new memory with each request', { skip }, async (t) => {
  const text = `def execute(self, requests):
    return [answer(array(request) + 1) for request in requests]`;
  const server = await serving(t, { add: script(text, anyLength) });
  const x = { data: counting(many, 0), shape: [1, many] };
  const into = { y: new Float32Array(many) };
  const ask = async (): Promise<void> => {
    await server.infer('add', { x }, { into });
  };
  for (let k = 0; k < 50; k++) await ask();
  const before = process.resourceUsage().minorPageFault;
  for (let k = 0; k < 200; k++) await ask();
  // The tensor has 147 pages, which must not be new for each request.
  const pages = (process.resourceUsage().minorPageFault - before) / 200;
  assert.ok(pages < 30, `${pages} pages a request`);
  assert.equal(into.y[7], 8);
});

test('an answer stays as it came, whatever the process writes into its memory later', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import threading
    responses = []
    for request in requests:
        x = array(request)
        def spoil(x=x, value=x[0, 0] + 1):
            for _ in range(200):
                x[...] = value
        threading.Thread(target=spoil, daemon=True).start()
        responses.append(answer(x))
    return responses`;
  const server = await serving(t, { passes: script(text, anyLength) });
  const large = 1 << 18;
  for (let i = 0; i < 5; i++) {
    const { outputs } = await server.infer('passes', {
      x: { data: new Float32Array(large).fill(i), shape: [1, large] },
    });
    const data = outputs['y']?.data;
    assert.ok(data instanceof Float32Array);
    const then = data.slice();
    await server.infer('passes', { x: { data: new Float32Array(large), shape: [1, large] } });
    assert.deepEqual(data, then);
  }
});

test('memory that a process has lent comes back, also where many answers wait', { skip }, async (t) => {
  const text = `def execute(self, requests):
    return [answer(array(request) * 2) for request in requests]`;
  const server = await serving(t, { twice: script(text, anyLength) });
  const large = 1 << 16;
  const into = Array.from({ length: 64 }, () => new Float32Array(large));
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      into.map(async (y, i) => {
        const x = { data: new Float32Array(large).fill(i), shape: [1, large] };
        if (i % 2 === 0) await server.infer('twice', { x }, { into: { y } });
        else y.set((await server.infer('twice', { x })).outputs['y']?.data as Float32Array);
      }),
    );
    for (const [i, y] of into.entries()) assert.ok(y[0] === 2 * i && y[large - 1] === 2 * i);
  }
});

test('an idle instance gives back the memory that it has grown by', { skip }, async (t) => {
  const text = `def execute(self, requests):
    return [answer(array(request) + 1) for request in requests]`;
  const server = await serving(t, { add: script(text, anyLength) });
  /** The allocated size of the shared memory, in blocks of 512 bytes. */
  const blocks = (): number => {
    const files = readdirSync('/proc/self/fd').filter((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`).includes('memfd:tritonts');
      } catch {
        return false;
      }
    });
    // The files are the instance's memory and the inputs' memory, each with one or two descriptors.
    const sizes = new Map(files.map((name) => [statSync(`/proc/self/fd/${name}`).ino, name]));
    return [...sizes.values()].reduce((sum, name) => sum + statSync(`/proc/self/fd/${name}`).blocks, 0);
  };
  const few = blocks();
  const large = 8 << 20;
  await server.infer('add', { x: { data: new Float32Array(large), shape: [1, large] } });
  assert.ok(blocks() > few + (2 * 4 * large) / 512 / 2, `${blocks()} after ${few}`);
  await until(() => blocks() <= few + 4096, 60_000);
});
