/** Requests of `connectServer` whose tensors are in shared memory. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import type { RemoteServer } from '../../src/client/index.js';
import { identity, onnx, rejection, serve, type Context } from '../support/harness.js';
import { addressOf, connected, protocols, type Protocol } from './harness.js';

const skip = process.platform === 'linux' ? false : 'shared memory is for Linux';
let made = 0;

/** Makes shared memory with these bytes, which is removed after the test. */
function memoryOf(t: Context, bytes: Uint8Array): { readonly key: string; readonly path: string } {
  const key = `/tritonts-client-${process.pid}-${++made}`;
  const path = `/dev/shm${key}`;
  writeFileSync(path, bytes);
  t.after(() => {
    rmSync(path, { force: true });
    return Promise.resolve();
  });
  return { key, path };
}

const numbers = Float32Array.from({ length: 16 }, (_, i) => i);
const bytesOf = (...arrays: readonly Float32Array[]): Buffer =>
  Buffer.concat(arrays.map(({ buffer }) => new Uint8Array(buffer)));

/** Texts in wire layout. */
function wireOf(...texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(text));
      return [length, Buffer.from(text)];
    }),
  );
}

const models = {
  add: onnx(),
  texts: identity({
    inputs: [{ name: 'x', datatype: 'BYTES', dims: [-1] }],
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [-1] }],
  }),
  pair: identity({
    inputs: [
      { name: 'a', datatype: 'FP32', dims: [16] },
      { name: 'b', datatype: 'FP32', dims: [16] },
    ],
    outputs: [
      { name: 'c', datatype: 'FP32', dims: [16] },
      { name: 'd', datatype: 'FP32', dims: [16] },
    ],
  }),
};

async function serverOf(t: Context, protocol: Protocol, clientSharedMemory = true): Promise<RemoteServer> {
  return connected(t, await addressOf(t, protocol, await serve(t, models), { clientSharedMemory }));
}

for (const protocol of protocols) {
  void suite(`shared memory over ${protocol}`, { skip }, () => {
    test('regions are registered, listed and unregistered', async (t) => {
      const { sharedMemory } = await serverOf(t, protocol);
      const { key } = memoryOf(t, new Uint8Array(200));
      await sharedMemory.register('one', { key, byteSize: 100 });
      await sharedMemory.register('a two', { key, offset: 100, byteSize: 50 });
      const byName = (await sharedMemory.regions()).sort((a, b) => a.offset - b.offset);
      assert.deepEqual(byName, [
        { name: 'one', key, offset: 0, byteSize: 100 },
        { name: 'a two', key, offset: 100, byteSize: 50 },
      ]);
      await sharedMemory.unregister('a two');
      await sharedMemory.unregister('unknown');
      assert.deepEqual(
        (await sharedMemory.regions()).map(({ name }) => name),
        ['one'],
      );
      const taken = await rejection(sharedMemory.register('one', { key, byteSize: 1 }));
      assert.match(taken.message, /'one' already in manager/);
      const long = await rejection(sharedMemory.register('long', { key, byteSize: 201 }));
      assert.equal(long.code, 'INVALID_ARG');
      for (const [name, options, message] of [
        ['', { key, byteSize: 1 }, /a non-empty string for name/],
        ['x', { key: 1, byteSize: 1 }, /a string for options\.key/],
        ['x', { key, byteSize: -1 }, /at least 0 for options\.byteSize/],
        ['x', { key, byteSize: 1, size: 2 }, /unknown key 'size'/],
      ] as const) {
        const { code, message: text } = await rejection(
          sharedMemory.register(name, options as { readonly key: string; readonly byteSize: number }),
        );
        assert.equal(code, 'INVALID_ARG');
        assert.match(text, message);
      }
      // No name means all regions to the protocols.
      assert.match((await rejection(sharedMemory.unregister(''))).message, /a non-empty string/);
      assert.equal((await sharedMemory.regions()).length, 1);
    });

    test('inputs are read from regions, and outputs are written there', async (t) => {
      const server = await serverOf(t, protocol);
      const { key, path } = memoryOf(t, bytesOf(numbers, new Float32Array(16)));
      await server.sharedMemory.register('both', { key, byteSize: 128 });
      const x = { sharedMemory: { region: 'both', byteSize: 64 }, shape: [1, 16] };
      const sent = await server.infer('add', { x });
      assert.deepEqual([...(sent.outputs['y']?.as('FP32').data ?? [])], [...numbers.map((one) => one + 1)]);
      assert.equal(sent.sharedMemory, undefined);
      const y = { sharedMemory: { region: 'both', offset: 64, byteSize: 64 } };
      const model = await server.model('add');
      const stored = await model.infer({ x }, { into: { y } });
      assert.deepEqual(Object.keys(stored.outputs), []);
      assert.deepEqual(stored.sharedMemory, { y: { datatype: 'FP32', shape: [1, 16] } });
      assert.deepEqual(readFileSync(path).subarray(64), bytesOf(numbers.map((one) => one + 1)));
      // Values of this process, to memory of the server's machine.
      await model.infer({ x: new Float32Array(16).fill(8) }, { into: { y } });
      assert.deepEqual(readFileSync(path).subarray(64), bytesOf(new Float32Array(16).fill(9)));
    });

    test('tensors of one request may be in regions, in arrays, and in the messages', async (t) => {
      const server = await serverOf(t, protocol);
      const { key, path } = memoryOf(t, bytesOf(numbers, new Float32Array(16)));
      await server.sharedMemory.register('some', { key, byteSize: 128 });
      const b = { sharedMemory: { region: 'some', byteSize: 64 }, shape: [1, 16] };
      const ones = new Float32Array(16).fill(1);
      const c = { sharedMemory: { region: 'some', offset: 64, byteSize: 64 } };
      const all = await server.infer('pair', { a: ones, b }, { into: { c } });
      assert.deepEqual([...(all.outputs['d']?.as('FP32').data ?? [])], [...numbers]);
      assert.deepEqual(Object.keys(all.sharedMemory ?? {}), ['c']);
      assert.deepEqual(readFileSync(path).subarray(64), bytesOf(ones));
      const d = new Float32Array(16);
      const both = await server.infer('pair', { a: b, b: ones }, { into: { c, d }, outputs: ['d', 'c'] });
      assert.deepEqual(d, ones);
      assert.equal(both.outputs['d']?.data, d);
      assert.deepEqual(readFileSync(path).subarray(64), bytesOf(numbers));
    });

    test('texts are in wire layout', async (t) => {
      const server = await serverOf(t, protocol);
      const wire = wireOf('ab', '', 'cdé');
      const { key, path } = memoryOf(t, Buffer.concat([wire, Buffer.alloc(64)]));
      await server.sharedMemory.register('texts', { key, byteSize: wire.length + 64 });
      const x = { sharedMemory: { region: 'texts', byteSize: wire.length }, shape: [1, 3] };
      const { outputs } = await server.infer('texts', { x });
      assert.deepEqual(outputs['y']?.as('BYTES').strings(), ['ab', '', 'cdé']);
      const y = { sharedMemory: { region: 'texts', offset: wire.length, byteSize: 64 } };
      const { sharedMemory } = await server.infer('texts', { x }, { into: { y } });
      assert.deepEqual(sharedMemory, { y: { datatype: 'BYTES', shape: [1, 3] } });
      assert.deepEqual(readFileSync(path).subarray(wire.length, 2 * wire.length), wire);
    });

    test('requests of a sequence, too', async (t) => {
      const server = await serverOf(t, protocol);
      const { key } = memoryOf(t, bytesOf(numbers));
      await server.sharedMemory.register('steps', { key, byteSize: 64 });
      const x = { sharedMemory: { region: 'steps', byteSize: 64 }, shape: [1, 16] };
      const sequence = (await server.model('add')).sequence();
      const { outputs } = await sequence.infer({ x });
      assert.equal(outputs['y']?.as('FP32').data[15], 16);
      await sequence.end();
    });

    test('wrong places are refused by words', async (t) => {
      const server = await serverOf(t, protocol);
      const { key } = memoryOf(t, bytesOf(numbers));
      await server.sharedMemory.register('r', { key, byteSize: 64 });
      const shape = [1, 16];
      const range = { region: 'r', byteSize: 64 };
      const x = { sharedMemory: range, shape };
      for (const [inputs, into, code, message] of [
        [{ x: { sharedMemory: { ...range, region: 'no' }, shape } }, {}, 'NOT_FOUND', /region: 'no'/],
        [{ x: { sharedMemory: { ...range, byteSize: 60 }, shape } }, {}, 'INVALID_ARG', /'x'/],
        [{ x: { sharedMemory: { ...range, offset: 8 }, shape } }, {}, 'INVALID_ARG', /offset .*'r'/i],
        [{ x: { sharedMemory: range, shape: [1, 8] } }, {}, 'INVALID_ARG', /'x'.*\[1,8\]/],
        [{ x: { sharedMemory: range } }, {}, 'INVALID_ARG', /'x'/],
        [
          { x: { sharedMemory: null, shape } },
          {},
          'INVALID_ARG',
          /inputs\.x\.sharedMemory but received null/,
        ],
        [{ x: { sharedMemory: { byteSize: 64 }, shape } }, {}, 'INVALID_ARG', /sharedMemory\.region/],
        [{ x: { sharedMemory: { ...range, offset: -1 }, shape } }, {}, 'INVALID_ARG', /sharedMemory\.offset/],
        [{ x: { sharedMemory: { ...range, size: 1 }, shape } }, {}, 'INVALID_ARG', /unknown key 'size'/],
        [{ x: { ...x, data: numbers } }, {}, 'INVALID_ARG', /unknown key 'data'/],
        [{ z: x }, {}, 'INVALID_ARG', /'z'/],
        [{ x }, { z: { sharedMemory: range } }, 'INVALID_ARG', /unknown output 'z' in options\.into/],
        [{ x }, { y: { sharedMemory: { region: 'r' } } }, 'INVALID_ARG', /into\.y\.sharedMemory\.byteSize/],
        [
          { x },
          { y: { sharedMemory: range, shape } },
          'INVALID_ARG',
          /unknown key 'shape' in options\.into\.y/,
        ],
        [{ x }, { y: { sharedMemory: { region: 'r', byteSize: 63 } } }, 'INVALID_ARG', /at least 64 bytes/],
      ] as const) {
        // Programs in JavaScript pass anything.
        const error = await rejection(server.infer('add', inputs as never, { into: into as never }));
        assert.equal(error.code, code, error.message);
        assert.match(error.message, message);
      }
      const asClasses = await rejection(
        server.infer(
          'add',
          { x },
          { into: { y: { sharedMemory: range } }, outputs: [{ name: 'y', classification: 1 }] },
        ),
      );
      assert.match(asClasses.message, /requested as classes/);
      // A proxy could answer otherwise each time it is asked.
      assert.equal((await rejection(server.infer('add', { x: new Proxy(x, {}) }))).code, 'INVALID_ARG');
      assert.equal((await rejection(server.infer('add', null as never))).code, 'INVALID_ARG');
      // What was refused leaves nothing behind.
      const { outputs } = await server.infer('add', { x: numbers });
      assert.equal(outputs['y']?.as('FP32').data[0], 1);
    });

    test('a server that does not allow it says so', async (t) => {
      const { sharedMemory } = await serverOf(t, protocol, false);
      const { key } = memoryOf(t, new Uint8Array(8));
      for (const refused of [
        sharedMemory.register('r', { key, byteSize: 8 }),
        sharedMemory.unregister('r'),
      ]) {
        const { code, message } = await rejection(refused);
        assert.equal(code, 'UNSUPPORTED');
        assert.match(message, /Client shared memory is disabled/);
      }
      assert.deepEqual(await sharedMemory.regions(), []);
    });
  });
}
