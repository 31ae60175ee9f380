/** Shared memory over HTTP and gRPC: registration, requests that read and write regions, and what is refused. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import {
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { suite, test } from 'node:test';
import type { InferenceServer } from '../../src/index.js';
import { identity, onnx, serve, type Context } from '../support/harness.js';
import * as overGrpc from './grpc/harness.js';
import * as overHttp from './http/harness.js';
import { grpcClient, httpClient, type Client } from './region-clients.js';

const skip = process.platform === 'linux' ? false : 'shared memory is for Linux';
const allowed = { clientSharedMemory: true };
let made = 0;

/** Makes a file of shared memory with these bytes, which is removed after the test. Returns its key and path. */
function memoryOf(t: Context, bytes: Uint8Array): { readonly key: string; readonly path: string } {
  const key = `/tritonts-test-${process.pid}-${++made}`;
  const path = `/dev/shm${key}`;
  writeFileSync(path, bytes);
  t.after(() => {
    rmSync(path, { force: true });
    return Promise.resolve();
  });
  return { key, path };
}

const bytesOf = (...values: readonly number[]): Uint8Array =>
  new Uint8Array(Float32Array.from(values).buffer);

/** The floats in a file. */
function floatsIn(path: string): number[] {
  const { buffer, byteOffset, byteLength } = readFileSync(path);
  return [...new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength))];
}

/** Elements of BYTES on the wire. */
function wireOf(...elements: readonly string[]): Buffer {
  return Buffer.concat(
    elements.flatMap((element) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(element));
      return [length, Buffer.from(element)];
    }),
  );
}

const models = {
  add: onnx(),
  flags: identity({
    inputs: [{ name: 'x', datatype: 'BOOL', dims: [-1] }],
    outputs: [{ name: 'y', datatype: 'BOOL', dims: [-1] }],
  }),
  echo: identity({
    inputs: [{ name: 'x', datatype: 'BYTES', dims: [-1] }],
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [-1] }],
  }),
};

async function clientOf(
  t: Context,
  protocol: string,
  options: { readonly clientSharedMemory?: boolean } = allowed,
  given?: InferenceServer,
): Promise<Client> {
  const server = given ?? (await serve(t, models));
  return protocol === 'HTTP'
    ? httpClient(await overHttp.endpointOf(t, server, options))
    : grpcClient(t, await overGrpc.endpointOf(t, server, options));
}

const numbers = Array.from({ length: 16 }, (_, i) => i);
const more = numbers.map((value) => value + 1);

for (const protocol of ['HTTP', 'gRPC']) {
  void suite(`shared memory over ${protocol}`, { skip }, () => {
    test('a request reads and writes regions that are registered', async (t) => {
      const client = await clientOf(t, protocol);
      const { key, path } = memoryOf(t, bytesOf(0, ...numbers, ...numbers.map(() => -1)));
      assert.equal(await client.register('both', key, 0, 33 * 4), undefined);
      const entry = { name: 'both', key, offset: 0, byte_size: 33 * 4 };
      assert.deepEqual(await client.status(''), [entry]);
      assert.deepEqual(await client.status('both'), [entry]);
      const input = { region: 'both', offset: 4, byteSize: 64 };
      assert.deepEqual(await client.infer({ model: 'add', shape: [1, 16], input }), {
        shape: [1, 16],
        floats: more,
      });
      const output = { region: 'both', offset: 17 * 4, byteSize: 64 };
      assert.deepEqual(await client.infer({ model: 'add', shape: [1, 16], input, output }), {
        shape: [1, 16],
        floats: undefined,
      });
      assert.deepEqual(floatsIn(path), [0, ...numbers, ...more]);
      // In place: the output takes the place of the input.
      assert.ok(!('code' in (await client.infer({ model: 'add', shape: [1, 16], input, output: input }))));
      assert.deepEqual(floatsIn(path).slice(1, 17), more);
      assert.equal(await client.unregister('both'), undefined);
      assert.deepEqual(await client.status(''), []);
      const gone = await client.infer({ model: 'add', shape: [1, 16], input });
      assert.deepEqual(gone, {
        code: 'NOT_FOUND',
        message: "model 'add': Unable to find shared memory region: 'both'",
      });
    });

    test('texts are read and written, and must be as long as they say', async (t) => {
      const client = await clientOf(t, protocol);
      const wire = wireOf('ab', '', 'cdé');
      const { key, path } = memoryOf(t, Buffer.concat([wire, Buffer.alloc(64)]));
      assert.equal(await client.register('texts', key, 0, wire.length + 64), undefined);
      const ask = (byteSize: number, shape: readonly number[], room: number): ReturnType<Client['infer']> =>
        client.infer({
          ...{ model: 'echo', datatype: 'BYTES', shape },
          input: { region: 'texts', byteSize },
          output: { region: 'texts', offset: wire.length, byteSize: room },
        });
      assert.deepEqual(await ask(wire.length, [1, 3], 64), { shape: [1, 3], floats: undefined });
      assert.deepEqual(readFileSync(path).subarray(wire.length, 2 * wire.length), wire);
      for (const [byteSize, shape, room, message] of [
        [wire.length - 1, [1, 3], 64, /'x'/],
        [wire.length, [1, 2], 64, /'x'/],
        [wire.length, [1, 4], 64, /'x'/],
        [wire.length, [1, 3], wire.length - 1, /for output 'y' \(\d+ bytes\) should be at least \d+ bytes/],
      ] as const) {
        const refused = await ask(byteSize, shape, room);
        assert.ok('code' in refused, `${byteSize} bytes, ${room} bytes of room`);
        assert.match(refused.code, /INVALID_ARG/);
        assert.match(refused.message, message);
      }
    });

    test('truth values are bytes of 0 and 1', async (t) => {
      const client = await clientOf(t, protocol);
      const { key, path } = memoryOf(t, Uint8Array.of(0, 1, 1, 0));
      assert.equal(await client.register('flags', key, 0, 4), undefined);
      const ask = (): ReturnType<Client['infer']> =>
        client.infer({
          ...{ model: 'flags', datatype: 'BOOL', shape: [1, 4], input: { region: 'flags', byteSize: 4 } },
          output: { region: 'flags', byteSize: 4 },
        });
      assert.ok(!('code' in (await ask())));
      writeFileSync(path, Uint8Array.of(0, 1, 2, 0), { flag: 'r+' });
      const refused = await ask();
      assert.ok('code' in refused);
      assert.match(refused.message, /input 'x': expected a byte of 0 or 1 for each BOOL/);
    });

    test('what cannot be registered is refused by name', async (t) => {
      const client = await clientOf(t, protocol);
      const { key } = memoryOf(t, Buffer.alloc(100));
      const link = memoryOf(t, Buffer.alloc(0));
      rmSync(link.path);
      symlinkSync('/proc/self/status', link.path);
      assert.equal(await client.register('taken', key, 4, 96), undefined);
      for (const [name, of, offset, byteSize, code, message] of [
        ['taken', key, 0, 8, 'ALREADY_EXISTS', /^shared memory region 'taken' already in manager$/],
        ['n', '', 0, 8, 'INVALID_ARG', /region 'n' - invalid shm key/],
        ['n', '///', 0, 8, 'INVALID_ARG', /invalid shm key '\/\/\/'/],
        ['n', '../etc/passwd', 0, 8, 'INVALID_ARG', /invalid shm key/],
        ['n', '..', 0, 8, 'INVALID_ARG', /invalid shm key/],
        ['n', 'a/b', 0, 8, 'INVALID_ARG', /invalid shm key/],
        ['n', 'x'.repeat(300), 0, 8, 'INVALID_ARG', /invalid shm key/],
        ['n', '/triton_python_backend_shm_region_1', 0, 8, 'INVALID_ARG', /reserved prefix/],
        ['n', link.key, 0, 8, 'INVALID_ARG', /Unable to open shared memory region/],
        ['n', `${key}-none`, 0, 8, 'INVALID_ARG', /Unable to open shared memory region/],
        ['n', key, 0, 101, 'INVALID_ARG', /region 'n': invalid args: .* has 100 bytes/],
        ['n', key, 93, 8, 'INVALID_ARG', /invalid args/],
        ['n', key, 2 ** 53 - 1, 8, 'INVALID_ARG', /invalid args/],
        ['n', key, 0, 0, 'INVALID_ARG', /invalid args/],
      ] as const) {
        const refused = await client.register(name, of, offset, byteSize);
        assert.ok(refused !== undefined, `${of} at ${offset}`);
        assert.match(refused.code, new RegExp(code));
        assert.match(refused.message, message);
      }
      assert.deepEqual(await client.status(''), [{ name: 'taken', key, offset: 4, byte_size: 96 }]);
      assert.deepEqual(await client.status('none'), {
        code: 'NOT_FOUND',
        message: "Unable to find system shared memory region: 'none'",
      });
      // As in Triton, an unknown name is no error.
      assert.equal(await client.unregister('none'), undefined);
      assert.equal(await client.unregister(''), undefined);
      assert.deepEqual(await client.status(''), []);
    });

    test('ranges that a region does not have are refused, and the next request works', async (t) => {
      const client = await clientOf(t, protocol);
      const { key } = memoryOf(t, bytesOf(...numbers));
      assert.equal(await client.register('r', key, 0, 64), undefined);
      const input = { region: 'r', byteSize: 64 };
      for (const [asked, message] of [
        [
          { input: { region: 'r', offset: 64, byteSize: 64 } },
          /Invalid offset for shared memory region: 'r'/,
        ],
        [{ input: { region: 'r', offset: 4, byteSize: 64 } }, /Invalid offset \+ byte size for .* 'r'/],
        [{ input: { region: 'r', byteSize: 60 } }, /unexpected size for input 'x'/],
        [
          { input, output: { region: 'r', byteSize: 60 } },
          /for output 'y' \(60 bytes\) should be at least 64/,
        ],
        [{ input, output: { region: 'r', byteSize: 65 } }, /Invalid offset \+ byte size/],
        [{ input, output: { ...input, more: { classification: 2 } } }, /classification/],
      ] as const) {
        const refused = await client.infer({ model: 'add', shape: [1, 16], ...asked });
        assert.ok('code' in refused);
        assert.match(refused.code, /INVALID_ARG/);
        assert.match(refused.message, message);
      }
      assert.deepEqual(await client.infer({ model: 'add', shape: [1, 16], input }), {
        shape: [1, 16],
        floats: more,
      });
    });

    test('a file that gets shorter ends its requests with words, and not the process', async (t) => {
      const client = await clientOf(t, protocol);
      const size = 64 * 1024;
      const rows = size / 64;
      const { key, path } = memoryOf(t, Buffer.alloc(2 * size));
      assert.equal(await client.register('cut', key, 0, 2 * size), undefined);
      const ask = (): ReturnType<Client['infer']> =>
        client.infer({
          ...{ model: 'add', shape: [Math.min(rows, 8), 16] },
          input: { region: 'cut', offset: size - 512, byteSize: 512 },
          output: { region: 'cut', offset: 2 * size - 512, byteSize: 512 },
        });
      assert.ok(!('code' in (await ask())));
      truncateSync(path, 4096);
      for (let i = 0; i < 3; i++) {
        const refused = await ask();
        assert.ok('code' in refused);
        assert.match(refused.message, /made shorter/);
      }
      assert.equal(await client.unregister('cut'), undefined);
      ftruncateSync(openSync(path, 'r+'), 2 * size);
      assert.equal(await client.register('cut', key, 0, 2 * size), undefined);
      assert.ok(!('code' in (await ask())));
    });

    test('it is off by default', async (t) => {
      const server = await serve(t, models);
      using own = server.sharedMemory.create(`tritonts-own-${process.pid}-${++made}`, 64);
      const client = await clientOf(t, protocol, {}, server);
      const off = /Client shared memory is disabled. Start the server with '--allow-client-shm=true'/;
      for (const refused of [await client.register('r', '/r', 0, 8), await client.unregister('r')]) {
        assert.equal(refused?.code, 'UNSUPPORTED');
        assert.match(refused.message, off);
      }
      assert.deepEqual(await client.status(''), []);
      const refused = await client.infer({
        ...{ model: 'add', shape: [1, 16] },
        input: { region: own.name, byteSize: 64 },
      });
      assert.ok('code' in refused && refused.code === 'NOT_FOUND');
    });

    test("a client uses the program's own region, and does not unregister it", async (t) => {
      const server = await serve(t, models);
      using own = server.sharedMemory.create(`tritonts-own-${process.pid}-${++made}`, 128);
      const client = await clientOf(t, protocol, allowed, server);
      new Float32Array(own.buffer).set(numbers);
      assert.equal(await client.unregister(''), undefined);
      assert.equal(await client.unregister(own.name), undefined);
      const asked = await client.infer({
        ...{ model: 'add', shape: [1, 16] },
        input: { region: own.name, byteSize: 64 },
        output: { region: own.name, offset: 64, byteSize: 64 },
      });
      assert.deepEqual(asked, { shape: [1, 16], floats: undefined });
      assert.deepEqual([...new Float32Array(own.buffer, 64)], more);
    });

    test('ten thousand regions come and go', async (t) => {
      const client = await clientOf(t, protocol);
      const { key } = memoryOf(t, bytesOf(...numbers));
      const count = protocol === 'HTTP' ? 2_000 : 10_000;
      for (let first = 0; first < count; first += 100) {
        const all = Array.from({ length: 100 }, (_, i) => client.register(`r${first + i}`, key, 0, 64));
        for (const refused of await Promise.all(all)) assert.equal(refused, undefined);
      }
      assert.equal(((await client.status('')) as readonly unknown[]).length, count);
      const input = { region: `r${count - 1}`, byteSize: 64 };
      assert.deepEqual(await client.infer({ model: 'add', shape: [1, 16], input }), {
        shape: [1, 16],
        floats: more,
      });
      assert.equal(await client.unregister(''), undefined);
      assert.deepEqual(await client.status(''), []);
    });
  });
}
