import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { InferenceServer, Inputs, InferResult } from '../../src/index.js';
import { floats, identity, rejection, row, serve, turn, type Context } from '../support/harness.js';
import { echo, pair, sizes } from './harness.js';

/** `ArrayBuffer` with newer methods that this target's types lack. */
interface ResizableBuffer extends ArrayBuffer {
  resize(length: number): void;
}
const Resizable = ArrayBuffer as unknown as new (
  length: number,
  options: { maxByteLength: number },
) => ResizableBuffer;
interface GrowableShared extends SharedArrayBuffer {
  grow(length: number): void;
}
const Growable = SharedArrayBuffer as unknown as new (
  length: number,
  options: { maxByteLength: number },
) => GrowableShared;

/** A row in a buffer that can be resized. The view follows its length. */
function resizableRow(width: number, first = 0): { view: Float32Array; buffer: ResizableBuffer } {
  const buffer = new Resizable(width * 4, { maxByteLength: width * 8 });
  const view = new Float32Array(buffer);
  view.set(row(first, width));
  return { view, buffer };
}

function transfer(view: ArrayBufferView): void {
  structuredClone(view.buffer, { transfer: [view.buffer as ArrayBuffer] });
}

function both(context: Context): Promise<InferenceServer> {
  return serve(context, { echo: echo(5), pair: pair() });
}

function sameAs(result: InferResult, expected: Float32Array, output = 'y'): void {
  assert.deepEqual(result.outputs[output]?.data, expected);
}

for (const [size, width] of Object.entries(sizes)) {
  void suite(`a ${size} input that its caller takes away after the call is answered as it was:`, () => {
    const misuses: Readonly<Record<string, (server: InferenceServer) => Promise<InferResult>>> = {
      transferred: (server) => {
        const x = row(1, width);
        const request = server.infer('echo', { x });
        transfer(x);
        return request;
      },
      'transferred a moment later': async (server) => {
        const x = row(1, width);
        const request = server.infer('echo', { x });
        await Promise.resolve();
        transfer(x);
        return request;
      },
      'transferred while it runs': async (server) => {
        const x = row(1, width);
        const request = server.infer('echo', { x });
        await turn();
        transfer(x);
        return request;
      },
      'resized to nothing': (server) => {
        const { view, buffer } = resizableRow(width, 1);
        const request = server.infer('echo', { x: view });
        buffer.resize(0);
        return request;
      },
      grown: (server) => {
        const { view, buffer } = resizableRow(width, 1);
        const request = server.infer('echo', { x: view });
        buffer.resize(width * 8);
        return request;
      },
      overwritten: (server) => {
        const x = row(1, width);
        const request = server.infer('echo', { x });
        x.fill(NaN);
        return request;
      },
    };
    for (const [name, misuse] of Object.entries(misuses)) {
      test(name, async (t) => {
        sameAs(await misuse(await both(t)), row(1, width));
      });
    }
  });

  void suite(`a ${size} input that is gone before the call is INVALID_ARG:`, () => {
    const misuses: Readonly<Record<string, () => Float32Array>> = {
      transferred: () => {
        const x = row(1, width);
        transfer(x);
        return x;
      },
      'a view beyond the end of its resized buffer': () => {
        const { buffer } = resizableRow(width);
        const view = new Float32Array(buffer, 4, width - 1);
        buffer.resize(8);
        return view;
      },
    };
    for (const [name, misuse] of Object.entries(misuses)) {
      test(name, async (t) => {
        const server = await both(t);
        const error = await rejection(server.infer('echo', { x: misuse() }));
        assert.equal(error.code, 'INVALID_ARG');
        assert.equal(error.tensor, 'x');
        sameAs(await server.infer('echo', { x: row(2) }), row(2));
      });
    }
  });

  void suite(`a ${size} input that is taken away during the call ends as an error or as it was:`, () => {
    /** Inputs whose second one detaches the first when it is read. */
    const inputs = (view: Float32Array, away: () => void): Readonly<Record<string, () => Inputs>> => ({
      'by a getter of the inputs': () => ({
        a: view,
        get b() {
          away();
          return row(2);
        },
      }),
      'by a getter of an input': () => ({
        a: view,
        b: {
          get shape() {
            away();
            return [1, 16];
          },
          data: row(2),
        },
      }),
      'by a proxy of an array': () => ({
        a: view,
        b: [
          new Proxy([1, 2, 3], {
            get(target, key, receiver): unknown {
              away();
              return Reflect.get(target, key, receiver);
            },
          }),
        ],
      }),
      'by an element that is no number': () => ({
        a: view,
        b: [
          [
            1,
            {
              valueOf(): number {
                away();
                return 2;
              },
            } as unknown as number,
          ],
        ],
      }),
    });
    const ways: Readonly<Record<string, () => { view: Float32Array; away: () => void }>> = {
      transferred: () => {
        const view = row(1, width);
        let gone = false;
        return {
          view,
          away: () => {
            if (!gone) transfer(view);
            gone = true;
          },
        };
      },
      shrunk: () => {
        const { view, buffer } = resizableRow(width, 1);
        return {
          view,
          away: () => {
            buffer.resize(4);
          },
        };
      },
      grown: () => {
        const { view, buffer } = resizableRow(width, 1);
        return {
          view,
          away: () => {
            buffer.resize(width * 8);
          },
        };
      },
    };
    for (const [way, make] of Object.entries(ways)) {
      for (const name of Object.keys(inputs(row(), () => undefined))) {
        test(`${way} ${name}`, async (t) => {
          const server = await both(t);
          const { view, away } = make();
          const given = inputs(view, away)[name]?.() ?? {};
          const outcome = await server.infer('pair', given).catch((error: unknown) => error);
          if (outcome instanceof Error) {
            assert.equal((outcome as Error & { code: string }).code, 'INVALID_ARG', String(outcome));
          } else {
            const a = floats(outcome as InferResult, 'a_out');
            // It has its old or its new value, and nothing else.
            assert.ok(a.length === width || a.length === view.length);
            assert.deepEqual(a.slice(0, width), [...row(1, width)].slice(0, a.length));
            assert.ok(a.slice(width).every((value) => value === 0));
          }
          sameAs(await server.infer('echo', { x: row(2) }), row(2));
        });
      }
    }
  });

  test(`a ${size} view into the middle of a buffer is taken from there`, async (t) => {
    const server = await both(t);
    const all = row(0, width * 3);
    sameAs(await server.infer('echo', { x: all.subarray(width, 2 * width) }), row(width, width));
    const odd = new Float32Array(all.buffer, 12, width);
    sameAs(await server.infer('echo', { x: odd }), row(3, width));
  });

  test(`a ${size} input that another thread writes has values that were there`, async (t) => {
    const server = await both(t);
    const shared = new Float32Array(new SharedArrayBuffer(width * 4));
    const go = new Int32Array(new SharedArrayBuffer(4));
    // It writes 1 and 2 again and again until it is told to stop.
    const writer = new Worker(
      `const { shared, go } = require('node:worker_threads').workerData;
       for (let i = 0; Atomics.load(go, 0) < 2; i++) {
         shared.fill(1 + (i & 1));
         Atomics.store(go, 0, Math.max(1, Atomics.load(go, 0)));
       }`,
      { eval: true, workerData: { shared, go } },
    );
    t.after(async () => {
      Atomics.store(go, 0, 2);
      await writer.terminate();
    });
    shared.fill(1);
    while (Atomics.load(go, 0) === 0) await turn();
    for (let i = 0; i < 30; i++) {
      const y = floats(await server.infer('echo', { x: shared }));
      assert.equal(y.length, width);
      assert.ok(y.every((value) => value === 1 || value === 2));
    }
  });

  test(`a ${size} input on a shared buffer that grows is what it was`, async (t) => {
    const server = await both(t);
    const buffer = new Growable(width * 4, { maxByteLength: width * 8 });
    const x = new Float32Array(buffer);
    x.set(row(1, width));
    const request = server.infer('echo', { x });
    buffer.grow(width * 8);
    sameAs(await request, row(1, width));
  });
}

test('bytes at odd offsets are taken as they are', async (t) => {
  const bytes = { datatype: 'UINT8', dims: [-1] } as const;
  const server = await serve(t, {
    bytes: identity({
      inputs: [{ name: 'x', ...bytes }],
      outputs: [{ name: 'y', ...bytes }],
      batching: false,
    }),
  });
  const all = Uint8Array.from({ length: 200_000 }, (_, i) => i % 251);
  for (const [from, to] of [
    [1, 8],
    [3, 64],
    [5, 4100],
    [7, 70_003],
    [1, 199_999],
  ] as const) {
    const { outputs } = await server.infer('bytes', { x: all.subarray(from, to) });
    assert.deepEqual(outputs['y']?.data, all.slice(from, to));
  }
});

test('a Buffer of Node’s pool is taken from its place in the pool', async (t) => {
  const text = { datatype: 'BYTES', dims: [-1] } as const;
  const model = identity({
    inputs: [{ name: 'x', ...text }],
    outputs: [{ name: 'y', ...text }],
    batching: false,
  });
  const server = await serve(t, {
    // Configurations call this type TYPE_STRING.
    texts: { ...model, config: model.config?.replaceAll('TYPE_BYTES', 'TYPE_STRING') ?? '' },
  });
  const words = ['a', 'of', 'and', 'pool', 'buffer'];
  const request = server.infer('texts', {
    x: { data: words.map((word) => Buffer.from(word)), shape: [1, 5] },
  });
  for (let i = 0; i < 100; i++) Buffer.from('something else in the pool');
  const { outputs } = await request;
  assert.deepEqual(outputs['y']?.as('BYTES').strings(), words);
});

test('an output whose buffer was transferred is INVALID_ARG as an input', async (t) => {
  const server = await both(t);
  const { outputs } = await server.infer('echo', { x: row(1) });
  const { y } = outputs;
  assert.ok(y);
  transfer(y.as('FP32').data);
  assert.equal((await rejection(server.infer('echo', { x: y }))).code, 'INVALID_ARG');
});
