/**
 * An engine connection over a {@link FakePort}, a model version with float inputs, and the outcomes of its requests.
 */

import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { pageBytes } from '../../src/addon/layout.js';
import { EngineConnection } from '../../src/dispatch/engine-connection.js';
import type {
  EngineConnectionOptions,
  DispatchRequest,
  DispatchTarget,
  EntryPoint,
  TargetOutput,
  Waiter,
} from '../../src/dispatch/types.js';
import type { Timings } from '../../src/api/timings.js';
import { EncodedInputs } from '../../src/tensor/encoded.js';
import type { MemoryViews } from '../../src/tensor/memory.js';
import type { TypedArray } from '../../src/tensor/types.js';
import { FakePort, type FakeResponse } from './fake-port.js';

/** A version with two float inputs of any length. Each request has one row. */
export class FakeVersion implements DispatchTarget {
  readonly uid: number;
  readonly name = 'fake';
  readonly inputs: readonly { readonly name: string }[] = [{ name: 'x' }, { name: 'z' }];
  readonly wires: readonly ['Float32Array', 'Float32Array'] = ['Float32Array', 'Float32Array'];
  groupRoom = 1;
  mostRoom = 1024;
  released = 0;
  /** The version that serves requests after this one was unloaded. */
  next: () => DispatchTarget = () => this;
  /** As that of a lazy model. */
  reload: () => Promise<void> | undefined = () => undefined;
  // All requests use this object, as in a real version.
  readonly #encoded: EncodedInputs = new EncodedInputs(2);

  constructor(uid = 7) {
    this.uid = uid;
  }

  /** Encodes the inputs of a request; undefined stands for an absent input. */
  encode(...inputs: readonly (readonly number[] | undefined)[]): EncodedInputs {
    for (const i of [0, 1]) {
      const floats = inputs[i];
      if (floats === undefined) this.#encoded.leaveOut(i);
      else this.#encoded.set(i, [1, floats.length], Float32Array.from(floats), floats.length * 4);
    }
    return this.#encoded;
  }

  rowsOf(): number {
    return 1;
  }
  releaseInputs(): void {
    this.released++;
    this.#encoded.release();
  }
  emptyOutputs(): Record<string, unknown> {
    return {};
  }
  output(index: number): TargetOutput {
    return {
      name: `y${index}`,
      shape: (words, position, rank) => [...words.subarray(position, position + rank)],
      cut: (_shape, { Float32Array }: MemoryViews, offset, size) => [
        ...Float32Array.subarray(offset / 4, (offset + size) / 4),
      ],
      make: (_shape, buffer) => [...new Float32Array(buffer)],
      into: (_shape, _bytes, target: TypedArray) => ({
        tensor: target,
        memory: new Uint8Array(target.buffer, target.byteOffset, target.byteLength),
      }),
      stored: (shape, byteSize) => ({ shape, byteSize }),
    };
  }
  result(id: string, outputs: Record<string, unknown>, timings: Timings): unknown {
    return { id, timings, ...outputs };
  }
  successor(): DispatchTarget {
    return this.next();
  }
}

/** A request and its outcome. */
export class Asked implements Waiter<unknown> {
  /** The value that it was settled with. */
  value: unknown;
  error: (Error & { readonly code?: string }) | undefined;
  settled = false;
  /** Called when the request is settled. */
  then: () => void = () => undefined;

  resolve(value: unknown): void {
    this.#settle();
    this.value = value;
    this.then();
  }

  reject(error: unknown): void {
    this.#settle();
    assert.ok(error instanceof Error);
    this.error = error;
    this.then();
  }

  #settle(): void {
    assert.ok(!this.settled, 'a request is settled twice');
    this.settled = true;
  }

  /** The first output, or the code of the error; undefined while there is neither. */
  get outcome(): unknown {
    if (this.error) return this.error.code;
    return this.settled ? (this.value as { readonly y0: unknown }).y0 : undefined;
  }
}

/** Options of a request that differ from the defaults. */
export type Options = Partial<DispatchRequest>;

/** The options of a request without options. */
export const usual: DispatchRequest = {
  id: '',
  wanted: undefined,
  signal: undefined,
  attributes: undefined,
  owner: undefined,
  ownOutputs: false,
  into: undefined,
  regions: undefined,
  pinned: false,
  sequence: undefined,
};

/** See the head of this file. */
export class Bench {
  readonly connection: EngineConnection;
  readonly port: FakePort;
  readonly version: FakeVersion = new FakeVersion();

  constructor({ maxInFlightBytes = 2 ** 26, captureStacks = false }: Partial<EngineConnectionOptions> = {}) {
    const holder: { port?: FakePort } = {};
    const attach = (onPages: (count: number) => void, external: boolean): FakePort =>
      (holder.port = new FakePort(onPages, external));
    this.connection = EngineConnection.attach({ attach }, { maxInFlightBytes, captureStacks });
    assert.ok(holder.port);
    this.port = holder.port;
  }

  /** Makes a request to the version. */
  ask(input: readonly number[], options?: Options, second?: readonly number[]): Asked {
    const asked = new Asked();
    const request = options ? { ...usual, ...options } : usual;
    this.connection.send(this.version, this.version.encode(input, second), request, asked, entry);
    return asked;
  }

  /** Makes `count` requests, with [0], [1], …, and sends all of them. */
  async askMany(count: number, options?: Options): Promise<Asked[]> {
    const asked = Array.from({ length: count }, (_, i) => this.ask([i], options));
    await turn();
    return asked;
  }

  /** Waits, in turns of the event loop, until requests are settled. */
  async settled(asked: readonly Asked[]): Promise<void> {
    for (let turns = 0; asked.some(({ settled }) => !settled); turns++) {
      assert.ok(turns < 10_000, 'a request is lost');
      await turn();
    }
  }

  /** Waits, in turns of the event loop, until no request is in flight. */
  async idle(): Promise<void> {
    const ended = new Asked();
    void this.connection.idle().then(() => {
      ended.resolve(undefined);
    });
    for (let turns = 0; !ended.settled; turns++) {
      assert.ok(turns < 10_000, 'some request never ends');
      await turn();
    }
  }

  /** Answers each request that was sent and not answered with its own first input. */
  echo(): void {
    let responses: FakeResponse[] = [];
    let room = pageBytes;
    for (const to of this.port.sent.splice(0)) {
      const { count, inputs } = to;
      const floats = inputs[0]?.floats ?? [];
      const bytes = 64 + count * 4 * (floats[0]?.length ?? 0);
      if (bytes > room) {
        this.port.answer(...responses);
        responses = [];
        room = pageBytes;
      }
      room -= bytes;
      responses.push({ to, count, outputs: [{ index: 0, floats }] });
    }
    if (responses.length > 0) this.port.answer(...responses);
  }
}

// eslint-disable-next-line @typescript-eslint/unbound-method -- of which only the identity matters
const entry: EntryPoint = Bench.prototype.ask;

/** This many requests of different lengths are as many groups. A submission has room for 4,369. */
export const moreThanFits = 4400;
