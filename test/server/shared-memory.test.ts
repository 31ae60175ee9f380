/** The program's own shared memory: arrays over it are inputs and outputs without a copy. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import type { AnyTensor, Datatype } from '../../src/index.js';
import { suite, test } from 'node:test';
import { identity, onnx, rejection, serve, thrown } from '../support/harness.js';

const skip = process.platform === 'linux' ? false : 'shared memory is for Linux';
let made = 0;
const freshName = (): string => `tritonts-server-${process.pid}-${++made}`;

void suite('shared memory of the program', { skip }, () => {
  test('arrays over a region are inputs and outputs, also beside ordinary ones', async (t) => {
    const server = await serve(t, { add: onnx(), echo: identity() });
    using region = server.sharedMemory.create(freshName(), 192);
    assert.equal(region.key, `/${region.name}`);
    assert.equal(region.buffer.byteLength, 192);
    const x = new Float32Array(region.buffer, 0, 16);
    const y = new Float32Array(region.buffer, 64, 16);
    for (const model of ['add', 'echo']) {
      const more = model === 'add' ? 1 : 0;
      for (let round = 0; round < 3; round++) {
        x.fill(round);
        y.fill(-1);
        const asked = [
          server.infer(model, { x }),
          server.infer(model, { x: { data: x, shape: [1, 16] } }, { into: { y } }),
          server.infer(model, { x: new Float32Array(16).fill(5) }),
          server.infer(
            model,
            { x: new Float32Array(16).fill(7) },
            { into: { y: new Float32Array(region.buffer, 128, 16) } },
          ),
        ];
        const [first, second, third, fourth] = await Promise.all(asked);
        assert.deepEqual([...(first?.outputs['y']?.as('FP32').data ?? [])], new Array(16).fill(round + more));
        assert.equal(second?.outputs['y']?.data, y);
        assert.deepEqual([...y], new Array(16).fill(round + more));
        assert.deepEqual([...(third?.outputs['y']?.as('FP32').data ?? [])], new Array(16).fill(5 + more));
        assert.deepEqual([...(fourth?.outputs['y']?.as('FP32').data ?? [])], new Array(16).fill(7 + more));
        assert.deepEqual([...new Float32Array(region.buffer, 128, 16)], new Array(16).fill(7 + more));
      }
    }
    const wrong = await rejection(
      server.infer('add', { x }, { into: { y: new Float32Array(region.buffer, 64, 8) } }),
    );
    assert.equal(wrong.code, 'INVALID_ARG');
    const stream = server.stream('add', { x });
    for await (const { outputs } of stream) assert.equal(outputs['y']?.as('FP32').data[0], 3);
  });

  test('other processes read and write it by its key', async (t) => {
    const server = await serve(t, { add: onnx() });
    using region = server.sharedMemory.create(freshName(), 64);
    writeFileSync(`/dev/shm${region.key}`, Buffer.from(new Float32Array(16).fill(4).buffer), { flag: 'r+' });
    const x = new Float32Array(region.buffer);
    const { outputs } = await server.infer('add', { x }, { into: { y: x } });
    assert.equal(outputs['y']?.data, x);
    const { buffer, byteOffset } = readFileSync(`/dev/shm${region.key}`);
    assert.deepEqual([...new Float32Array(buffer.slice(byteOffset, byteOffset + 64))], new Array(16).fill(5));
  });

  test('a region ends with its server, by `using`, and is an ordinary array afterwards', async (t) => {
    const server = await serve(t, { add: onnx() });
    const names = [freshName(), freshName()] as const;
    let kept: Float32Array;
    {
      using region = server.sharedMemory.create(names[0], 64);
      kept = new Float32Array(region.buffer);
      assert.deepEqual(server.sharedMemory.regions(), [
        { name: names[0], key: `/${names[0]}`, offset: 0, byteSize: 64 },
      ]);
    }
    assert.ok(!existsSync(`/dev/shm/${names[0]}`));
    assert.deepEqual(server.sharedMemory.regions(), []);
    kept.fill(2);
    const { outputs } = await server.infer('add', { x: kept });
    assert.equal(outputs['y']?.as('FP32').data[0], 3);
    // Its name is free again.
    server.sharedMemory.create(names[0], 64);
    const last = server.sharedMemory.create(names[1], 64);
    const running = server.infer('add', { x: new Float32Array(last.buffer) });
    last.unregister();
    last.unregister();
    assert.equal((await running).outputs['y']?.as('FP32').data[0], 1);
    await server.close();
    for (const name of names) assert.ok(!existsSync(`/dev/shm/${name}`));
    assert.equal(thrown(() => server.sharedMemory).code, 'UNAVAILABLE');
  });

  test('what cannot be made or registered is refused', async (t) => {
    const server = await serve(t, { add: onnx() });
    const { sharedMemory } = server;
    const name = freshName();
    using region = sharedMemory.create(name, 100);
    for (const [what, code, message] of [
      [() => sharedMemory.create(name, 64), 'ALREADY_EXISTS', /exists already/],
      [() => sharedMemory.create('', 64), 'INVALID_ARG', /non-empty string for name/],
      [() => sharedMemory.create('a/b', 64), 'INVALID_ARG', /invalid shm key/],
      [() => sharedMemory.create('..', 64), 'INVALID_ARG', /invalid shm key/],
      [() => sharedMemory.create(freshName(), 0), 'INVALID_ARG', /integer of at least 1 for byteSize/],
      [() => sharedMemory.create(freshName(), 2 ** 50), 'INVALID_ARG', /at most 4294967296 bytes/],
      [
        () => {
          sharedMemory.register(name, { key: name, byteSize: 8 });
        },
        'ALREADY_EXISTS',
        /already in manager/,
      ],
      [
        () => {
          sharedMemory.register('r', { key: name, byteSize: 101 });
        },
        'INVALID_ARG',
        /has 100 bytes/,
      ],
      [
        () => {
          sharedMemory.register('r', { key: name, byteSize: 8, size: 1 } as never);
        },
        'INVALID_ARG',
        /size/,
      ],
      [
        () => {
          sharedMemory.register('r', { key: 'none-of-these', byteSize: 8 });
        },
        'INVALID_ARG',
        /Unable to open/,
      ],
    ] as const) {
      const error = thrown(what);
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
    }
    sharedMemory.register('r', { key: region.key, offset: 4, byteSize: 8 });
    assert.equal(sharedMemory.unregister('r'), true);
    assert.equal(sharedMemory.unregister('r'), false);
    assert.deepEqual(
      sharedMemory.regions().map(({ name: one }) => one),
      [name],
    );
  });

  test('a request that a getter makes leaves its regions to itself', async (t) => {
    const server = await serve(t, { add: onnx() });
    using region = server.sharedMemory.create(freshName(), 64);
    const shared = new Float32Array(region.buffer).fill(100);
    const asked: Promise<number | undefined>[] = [];
    const first = (outputs: Readonly<Record<string, AnyTensor>>): number | undefined =>
      outputs['y']?.as('FP32').data[0];
    const given = {
      get x(): Float32Array {
        asked.push(server.infer('add', { x: shared }).then(({ outputs }) => first(outputs)));
        return new Float32Array(16).fill(1);
      },
    };
    asked.push(server.infer('add', given).then(({ outputs }) => first(outputs)));
    assert.deepEqual(await Promise.all(asked), [101, 2]);
  });

  test('inputs that are copied are checked: BOOL by its bytes, all by whether the memory is whole', async (t) => {
    const datatypes = ['BOOL', 'INT32', 'FP32'] as const;
    const tensors = (name: string): { name: string; datatype: Datatype; dims: number[] }[] =>
      datatypes.map((datatype) => ({ name: `${name}_${datatype}`, datatype, dims: [32] }));
    const server = await serve(t, { echo: identity({ inputs: tensors('x'), outputs: tensors('y') }) });
    using region = server.sharedMemory.create(freshName(), 8192);
    const { buffer } = region;
    const ask = (at: number): Promise<unknown> =>
      server.infer('echo', {
        x_BOOL: new Uint8Array(buffer, at, 32),
        x_INT32: { data: new Int32Array(buffer, at + 32, 32), shape: [1, 32] },
        x_FP32: new Float32Array(buffer, at + 160, 32),
      });
    await ask(4096);
    new Uint8Array(buffer)[4098] = 9;
    const wrong = await rejection(ask(4096));
    assert.equal(wrong.code, 'INVALID_ARG');
    assert.match(wrong.message, /input 'x_BOOL': expected BOOL/);
    new Uint8Array(buffer)[4098] = 1;
    await ask(4096);
    truncateSync(`/dev/shm${region.key}`, 4096);
    const cut = await rejection(ask(4096));
    assert.equal(cut.code, 'INVALID_ARG');
    assert.match(cut.message, /was made shorter than the region/);
    const one = identity({
      inputs: [{ name: 'x', datatype: 'INT32', dims: [32] }],
      outputs: [{ name: 'y', datatype: 'INT32', dims: [32] }],
    });
    const other = await serve(t, { echo: one });
    using second = other.sharedMemory.create(freshName(), 8192);
    truncateSync(`/dev/shm${second.key}`, 4096);
    const alone = await rejection(other.infer('echo', { x: new Int32Array(second.buffer, 4096, 32) }));
    assert.match(alone.message, /was made shorter than the region/);
    // The program itself reads zeros.
    assert.equal(new Uint8Array(second.buffer)[8191], 0);
  });

  test('the exit of the process removes it', () => {
    const name = freshName();
    const script = `import { createServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
      const server = await createServer({ models: { m: { config: { max_batch_size: 1,
        input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }], output: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }] },
        execute: () => new Promise(() => undefined) } } });
      const { buffer } = server.sharedMemory.create(${JSON.stringify(name)}, 64);
      // A request that never ends uses it.
      void server.infer('m', { x: new Float32Array(buffer, 0, 1) });
      setTimeout(() => process.exit(3), 100);`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
    assert.equal(status, 3, stderr.toString());
    assert.ok(!existsSync(`/dev/shm/${name}`));
  });
});
