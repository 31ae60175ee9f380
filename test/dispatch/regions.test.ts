/** Inputs that come from regions of shared memory, and outputs that go there. */

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { addon } from '../../src/addon/load.js';
import type { NativeServer } from '../../src/addon/native/server.js';
import { EngineConnection } from '../../src/dispatch/engine-connection.js';
import type { DispatchRequest, RegionRange } from '../../src/dispatch/types.js';
import { unavailable } from '../../src/errors.js';
import type { InferenceServer, ModelObject } from '../../src/index.js';
import { defaultNamespace } from '../../src/model-key.js';
import { EncodedInputs } from '../../src/tensor/encoded.js';
import { chain, ensemble, identity, serve, type Context } from '../support/harness.js';
import { temporaryFolder, type RepositoryModel } from '../support/repository.js';
import { Asked, Bench, FakeVersion, usual } from './harness.js';

/** A request's first input: floats, or where they are in a region, with their number. */
type First = readonly number[] | (RegionRange & { readonly count: number });

/** Encodes a first input, and maybe floats as a second one. */
function encode(first: First, second?: readonly number[]): EncodedInputs {
  const inputs = new EncodedInputs(2);
  if ('region' in first) inputs.setElsewhere(0, [1, first.count]);
  else inputs.set(0, [1, first.length], Float32Array.from(first), first.length * 4);
  if (second) inputs.set(1, [1, second.length], Float32Array.from(second), second.length * 4);
  return inputs;
}

function requestOf(first: First, targets: readonly (RegionRange | undefined)[]): DispatchRequest {
  return { ...usual, regions: { sources: ['region' in first ? first : undefined], targets } };
}

function send(bench: Bench, first: First, targets: readonly (RegionRange | undefined)[]): Asked {
  const asked = new Asked();
  const origin = 'here';
  bench.connection.send(bench.version, encode(first, [8]), requestOf(first, targets), asked, origin);
  return asked;
}

const far = 3 * 2 ** 32 + 2 ** 31 + 64;

test('a record names regions by numbers of 64 bits, and is as short as before without them', async () => {
  const bench = new Bench();
  const first = { region: 5, offset: far, byteSize: 2 ** 32 - 4, count: 3 };
  send(bench, first, [undefined, { region: 6, offset: far + 1, byteSize: far + 2 }]);
  await turn();
  const sent = bench.port.sent[0];
  assert.deepEqual(sent?.targets, [{ output: 1, region: 6, offset: far + 1, byteSize: far + 2 }]);
  assert.deepEqual(
    sent.inputs.map(({ index, shape, floats, range }) => ({ index, shape, floats, range })),
    [
      { index: 0, shape: [1, 3], floats: [], range: { region: 5, offset: far, byteSize: 2 ** 32 - 4 } },
      { index: 1, shape: [1, 1], floats: [[8]], range: undefined },
    ],
  );
  const words = new Int32Array(bench.port.submissionMemory);
  assert.equal(words[4], 2 | (1 << 16));
  bench.ask([1], undefined, [2]);
  await turn();
  assert.equal(bench.port.sent[1]?.targets.length, 0);
  assert.equal(words[4], 2);
});

test('a request that uses regions is a group of its own, also among others of the same form', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 64;
  const request = requestOf({ region: 5, offset: 0, byteSize: 4, count: 1 }, []);
  const inputs = encode({ region: 5, offset: 0, byteSize: 4, count: 1 });
  bench.ask([1]);
  for (let i = 0; i < 3; i++) bench.connection.send(bench.version, inputs, request, new Asked(), 'here');
  bench.ask([1]);
  await turn();
  assert.deepEqual(
    bench.port.sent.map(({ count, inputs: [x] }) => [count, x?.range?.region]),
    [
      [1, undefined],
      [1, 5],
      [1, 5],
      [1, 5],
      [1, undefined],
    ],
  );
});

test('an output in a region is told by its shape and size, beside others', async () => {
  const bench = new Bench();
  const target = { region: 5, offset: 0, byteSize: 2 ** 33 };
  for (const byteSize of [0, 12, 2 ** 31, 2 ** 32 - 4, 2 ** 32]) {
    const asked = send(bench, [1], [target]);
    await turn();
    const [to] = bench.port.sent.splice(0);
    assert.ok(to);
    const outputs = [
      { index: 0, floats: [], stored: byteSize },
      { index: 1, floats: [[4, 5]] },
    ];
    bench.port.answer({ to, outputs });
    assert.deepEqual((asked.value as { readonly y0: unknown }).y0, { shape: [3], byteSize });
    assert.deepEqual((asked.value as { readonly y1: unknown }).y1, [4, 5]);
  }
  await bench.idle();
});

test('a request that no version took goes to the next one with its regions', async () => {
  const bench = new Bench();
  const next = new FakeVersion(9);
  bench.version.next = () => next;
  const range = { region: 5, offset: 16, byteSize: 4 };
  const asked = send(bench, { ...range, count: 1 }, [range]);
  await turn();
  const [first] = bench.port.sent.splice(0);
  assert.ok(first);
  bench.port.answer({ to: first, code: 5, message: 'gone', unserved: true });
  await turn();
  const [second] = bench.port.sent.splice(0);
  assert.ok(second);
  assert.deepEqual([second.uid, second.targets[0]?.region, second.inputs[0]?.range], [9, 5, range]);
  bench.port.answer({ to: second, outputs: [{ index: 0, floats: [], stored: 4 }] });
  assert.deepEqual(asked.outcome, { shape: [3], byteSize: 4 });
});

/** A file with the floats 1, 2, …, 8 as a region, and an engine connection of its own, on a server. */
class Shared {
  readonly native: NativeServer;
  readonly region: number;
  readonly #path: string;
  readonly #connection: EngineConnection;

  private constructor(native: NativeServer, path: string, region: number) {
    this.native = native;
    this.#path = path;
    this.region = region;
    this.#connection = EngineConnection.attach(native, { maxInFlightBytes: 2 ** 26, captureStacks: false });
  }

  static async open(t: Context, server: InferenceServer): Promise<Shared> {
    const native = addon().findServer(server.handle.id);
    assert.ok(native);
    const path = join(await temporaryFolder(t), 'shared');
    await writeFile(path, Buffer.from(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8).buffer));
    const region = native.registerRegion('numbers', path, 0, 32, 'numbers', false);
    assert.ok(typeof region === 'number');
    const shared = new Shared(native, path, region);
    t.after(() => shared.#connection.detach(unavailable('CLOSED', 'the test is over')));
    return shared;
  }

  /** The floats in the file. */
  async floats(): Promise<number[]> {
    const { buffer, byteOffset } = await readFile(this.#path);
    return [...new Float32Array(buffer.slice(byteOffset, byteOffset + 32))];
  }

  /** The range of `count` floats from number `first` on. */
  range(first: number, count: number): RegionRange & { readonly count: number } {
    return { region: this.region, offset: first * 4, byteSize: count * 4, count };
  }

  /** Sends a request to a published model. Returns its first output or the code of its error, and the message. */
  async ask(model: string, first: First, targets: readonly (RegionRange | undefined)[]): Promise<Answer> {
    const { json = '' } = this.native.read({ namespace: defaultNamespace, name: model }, -1) ?? {};
    const uid = Number(/"uid":(\d+)/.exec(json)?.[1]);
    assert.ok(uid >= 0, `no uid in ${json}`);
    const asked = new Asked();
    const settled = new Promise<void>((resolve) => {
      asked.then = resolve;
    });
    const inputs = new EncodedInputs(1);
    const { shapes, data, byteLengths } = encode(first);
    const [shape, values] = [shapes[0] ?? [], data[0]];
    if (values) inputs.set(0, shape, values, byteLengths[0] ?? 0);
    else inputs.setElsewhere(0, shape);
    this.#connection.send(new FakeVersion(uid), inputs, requestOf(first, targets), asked, 'here');
    await settled;
    return { outcome: asked.outcome, message: asked.error?.message };
  }
}

interface Answer {
  readonly outcome: unknown;
  readonly message: string | undefined;
}

const anyWidth = { inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] };

const double: ModelObject = {
  config: {
    max_batch_size: 8,
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [-1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [-1] }],
  },
  execute: (requests) =>
    requests.map(({ inputs }) => ({ y: inputs['x']?.as('FP32').data.map((value) => 2 * value) })),
};

const models: Readonly<Record<string, RepositoryModel>> = {
  echo: identity({ ...anyWidth, maxBatchSize: 8 }),
  twice: ensemble(chain(['double', 'double']), { ...anyWidth, maxBatchSize: 8 }),
};

const windows = process.platform === 'win32' && 'files are not mapped on Windows';

for (const [model, factor] of [
  ['echo', 1],
  ['double', 2],
  ['twice', 4],
] as const) {
  test(`${model} reads and writes a region`, { skip: windows }, async (t) => {
    const server = await serve(t, models, { models: { double } });
    const shared = await Shared.open(t, server);
    const first = await shared.ask(model, shared.range(1, 2), [shared.range(4, 3)]);
    assert.deepEqual(first.outcome, { shape: [1, 2], byteSize: 8 });
    assert.deepEqual(await shared.floats(), [1, 2, 3, 4, 2 * factor, 3 * factor, 7, 8]);
    // Into the memory that it was read from, from an array, and into a page.
    const second = await shared.ask(model, shared.range(0, 1), [shared.range(0, 1)]);
    assert.deepEqual(second.outcome, { shape: [1, 1], byteSize: 4 });
    const third = await shared.ask(model, [10, 20], [shared.range(6, 2)]);
    assert.deepEqual(third.outcome, { shape: [1, 2], byteSize: 8 });
    assert.deepEqual(await shared.floats(), [
      1 * factor,
      2,
      3,
      4,
      2 * factor,
      3 * factor,
      10 * factor,
      20 * factor,
    ]);
    const fourth = await shared.ask(model, shared.range(2, 2), []);
    assert.deepEqual(fourth.outcome, [3 * factor, 4 * factor]);
    // An output that does not fit fails alone, and writes nothing.
    const [small, fits] = await Promise.all([
      shared.ask(model, shared.range(0, 2), [shared.range(2, 1)]),
      shared.ask(model, shared.range(1, 1), [shared.range(3, 1)]),
    ]);
    assert.equal(small.outcome, 'INVALID_ARG');
    assert.equal(
      small.message,
      "shared memory size specified with the request for output 'y' (4 bytes) should be at least 8 bytes to hold the results",
    );
    assert.deepEqual(fits.outcome, { shape: [1, 1], byteSize: 4 });
    assert.deepEqual((await shared.floats()).slice(2, 4), [3, 2 * factor]);
  });
}

test(
  'a request may name only what is registered, and keeps it while it runs',
  { skip: windows },
  async (t) => {
    const slow = identity({ ...anyWidth, maxBatchSize: 8, delayMs: 100 });
    const server = await serve(t, { ...models, slow }, { models: { double } });
    const shared = await Shared.open(t, server);
    const { native, region } = shared;
    for (const [first, code] of [
      [{ ...shared.range(0, 1), region: region + 1 }, 'NOT_FOUND'],
      [shared.range(7, 2), 'INVALID_ARG'],
      [{ ...shared.range(0, 1), byteSize: 8 }, 'INVALID_ARG'],
    ] as const) {
      const asked = await shared.ask('echo', first, []);
      assert.equal(asked.outcome, code);
    }
    const running = shared.ask('slow', shared.range(0, 2), [shared.range(2, 2)]);
    await turn();
    assert.equal(native.unregisterRegion(region), true);
    assert.equal(native.unregisterRegion(region), false);
    assert.deepEqual((await running).outcome, { shape: [1, 2], byteSize: 8 });
    assert.deepEqual((await shared.floats()).slice(0, 4), [1, 2, 1, 2]);
    const late = await shared.ask('echo', shared.range(0, 1), []);
    assert.equal(late.outcome, 'NOT_FOUND');
  },
);

test(
  'a region is registered once under its name, and only in a file that has it',
  { skip: windows },
  async (t) => {
    const server = await serve(t, models, { models: { double } });
    const { native } = await Shared.open(t, server);
    const path = join(await temporaryFolder(t), 'other');
    await writeFile(path, Buffer.alloc(8));
    const codes = [
      native.registerRegion('numbers', path, 0, 8, 'numbers', false),
      native.registerRegion('long', path, 4, 8, 'long', false),
      native.registerRegion('none', join(path, 'missing'), 0, 8, 'none', false),
    ].map((status) => (typeof status === 'number' ? status : status.code));
    assert.deepEqual(codes, [7, 4, 4]);
  },
);
