/** Makes random requests to servers of all kinds at once. Each must get its own inputs back. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import {
  TritonError,
  type AnyTensor,
  type InferenceServer,
  type InferOptions,
  type Inputs,
  type InferResult,
} from '../../src/index.js';
import { serve, type Context } from '../support/harness.js';
import { Dice } from './dice.js';
import { kinds, type Drawn, type Kind } from './models.js';
import { blank, type Expected, type Numbers } from './tensors.js';

/** The most requests under way at once. */
const mostUnderWay = 6000;

/** A model of this process, or of another one. */
interface AnyModel {
  infer(inputs: Inputs, options?: InferOptions): Promise<Answer>;
  map(items: Iterable<Inputs>, options: { readonly concurrency: number }): AsyncIterable<Answer>;
}

/** The common part of both kinds of results. */
type Answer = Omit<InferResult, 'timings'>;

/** A server of this process, or a connection to one. */
export interface AnyServer {
  model(name: string): AnyModel | Promise<AnyModel>;
  close(): Promise<void>;
}

/** A server's models, and the reasons for which it may refuse valid requests. */
interface Served {
  readonly models: ReadonlyMap<string, AnyModel>;
  readonly server: AnyServer;
  readonly limited: boolean;
}

function modelOf({ models }: Served, name: string): AnyModel {
  const model = models.get(name);
  assert.ok(model, name);
  return model;
}

/** The number of requests by outcome. */
export interface Outcomes {
  answered: number;
  cancelled: number;
  refused: number;
}

/** An answer that is checked again later. No other code may have written to its memory. */
interface Kept {
  readonly result: Answer;
  readonly expected: Drawn['expected'];
}

function checkTensor(tensor: AnyTensor | undefined, { shape, data, texts }: Expected, what: string): void {
  assert.ok(tensor, `${what} is missing`);
  assert.deepEqual(tensor.shape, shape, what);
  if (tensor.datatype === 'BYTES') {
    assert.deepEqual(
      tensor.data.map((bytes) => bytes.toString('latin1')),
      texts?.map((bytes) => bytes.toString('latin1')),
      what,
    );
    return;
  }
  const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>): Buffer =>
    Buffer.from(buffer, byteOffset, byteLength);
  // This is faster than comparing elements.
  if (data === undefined || !bytesOf(tensor.data).equals(bytesOf(data)))
    assert.deepEqual(tensor.data, data, what);
}

/** See the head of this file. */
export class RandomRequests {
  readonly outcomes: Outcomes = { answered: 0, cancelled: 0, refused: 0 };
  readonly #dice: Dice;
  readonly #servers: readonly Served[];
  readonly #underWay: Set<Promise<void>> = new Set();
  readonly #kept: Kept[] = [];
  /** Signals that many requests share. */
  readonly #shared: AbortController[] = [];
  /** The first failure. */
  #fault: { readonly error: unknown } | undefined;
  #made = 0;
  /** How deep requests in the middle of requests are nested. */
  #depth = 0;

  private constructor(seed: number, servers: readonly Served[]) {
    this.#dice = new Dice(seed);
    this.#servers = servers;
  }

  /**
   * Starts the servers.
   *
   * @param through - Returns the object to make requests with (default: the server itself). If given, the server
   *   with a byte limit is left out, because a connection does not retry refused requests.
   */
  static async start(
    context: Context,
    seed: number,
    through?: (server: InferenceServer) => Promise<AnyServer>,
  ): Promise<RandomRequests> {
    const models = Object.fromEntries(Object.entries(kinds).map(([name, { model }]) => [name, model]));
    const servers: Served[] = [];
    for (const options of [
      {},
      { inline: 'off', captureStacks: true } as const,
      ...(through ? [] : [{ maxInFlightBytes: 150_000 }]),
    ]) {
      const own = await serve(context, models, options);
      const server: AnyServer = through ? await through(own) : own;
      const handles = new Map<string, AnyModel>();
      for (const name of Object.keys(kinds)) handles.set(name, await server.model(name));
      servers.push({ server, models: handles, limited: 'maxInFlightBytes' in options });
    }
    return new RandomRequests(seed, servers);
  }

  /** Makes at least this many requests, and checks each. */
  async run(requests: number): Promise<void> {
    const dice = this.#dice;
    while (this.#made < requests && this.#fault === undefined) {
      if (dice.oneIn(150)) await this.#storm();
      else this.#burst();
      if (dice.oneIn(4)) this.#abortShared();
      if (dice.oneIn(6)) this.#track(this.#map(dice.pick(this.#servers)));
      if (this.#underWay.size > mostUnderWay || dice.oneIn(5)) await this.#allEnded();
      else if (dice.oneIn(3)) await sleep(dice.below(3));
      else if (dice.oneIn(2)) await turn();
      else await Promise.resolve();
      if (dice.oneIn(20)) this.#checkKept();
    }
    await this.#allEnded();
    this.#checkKept();
    for (const { signal } of this.#shared) assert.equal(getEventListeners(signal, 'abort').length, 0);
    for (const { server } of this.#servers) await server.close();
  }

  async #allEnded(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    if (this.#fault) throw this.#fault.error;
  }

  #track(work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => {
      this.#fault ??= { error };
    });
    this.#underWay.add(tracked);
    void tracked.then(() => this.#underWay.delete(tracked));
  }

  /** Makes several requests in one tick, of which some neighbours are alike. */
  #burst(): void {
    const dice = this.#dice;
    const served = dice.pick(this.#servers);
    for (let runs = 1 + dice.below(4); runs > 0; runs--) {
      const name = dice.pick(Object.keys(kinds));
      const kind = kinds[name];
      if (kind === undefined) continue;
      const shape = kind.shape(dice);
      const alike = dice.oneIn(3) ? dice.below(dice.oneIn(10) ? 600 : 60) : dice.below(3);
      const bytes = shape.reduce((product, dim) => product * dim, 8);
      for (let i = Math.min(alike, Math.floor(2 ** 22 / bytes)); i >= 0; i--) {
        const own = dice.oneIn(8) ? kind.shape(dice) : shape;
        this.#track(this.#ask(served, name, kind, own));
      }
    }
  }

  /** Makes more groups than a submission takes. */
  async #storm(): Promise<void> {
    const dice = this.#dice;
    const served = dice.pick(this.#servers);
    const kind = kinds['floats'];
    assert.ok(kind);
    // Answers that arrive meanwhile make the maps send further requests.
    for (let maps = dice.below(4); maps > 0; maps--) this.#track(this.#map(served));
    if (dice.oneIn(2)) await turn();
    for (let i = 4400 + dice.below(400); i > 0; i--)
      this.#track(this.#ask(served, 'floats', kind, [1, 1 + (i % 3)]));
  }

  async #ask(served: Served, name: string, kind: Kind, shape: readonly number[]): Promise<void> {
    const dice = this.#dice;
    const number = this.#made++;
    const aside = (): void => {
      if (this.#depth > 2 || !dice.oneIn(4)) return;
      this.#depth++;
      if (dice.oneIn(3)) this.#abortShared();
      else this.#track(this.#ask(served, name, kind, dice.oneIn(2) ? shape : kind.shape(dice)));
      this.#depth--;
    };
    const drawn = kind.draw(dice, shape, number, aside);
    const { inputs, expected } = drawn;
    const { options, wanted, controller } = this.#options(number, expected);
    const request = modelOf(served, name).infer(inputs, options);
    if (dice.oneIn(3)) drawn.spoil();
    if (controller && dice.oneIn(2)) this.#track(this.#abortSoon(controller));
    const what = `request ${number} of '${name}'`;
    const outcome = await request.then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
    if ('error' in outcome) {
      this.#checkError(outcome.error, served, options, what);
      return;
    }
    const { result } = outcome;
    this.outcomes.answered++;
    // If its signal has fired, the request may only reject.
    assert.equal(result.id, options?.id ?? '', what);
    assert.equal(result.model.name, name, what);
    assert.deepEqual(Object.keys(result.outputs), wanted, what);
    for (const output of wanted) {
      const copy = expected[output];
      assert.ok(copy);
      checkTensor(result.outputs[output], copy, `${what}, output '${output}'`);
      const into = options?.into?.[output];
      if (into) assert.equal(result.outputs[output]?.data, into, what);
    }
    if (dice.oneIn(30) && options?.into === undefined) this.#kept.push({ result, expected });
    // A caller that gets an answer may make another request at once, or pass the answer on.
    if (dice.oneIn(12)) await this.#ask(served, name, kind, dice.oneIn(2) ? shape : kind.shape(dice));
    else if (dice.oneIn(12) && options?.outputs === undefined)
      await this.#passOn(served, name, result, expected);
  }

  #options(
    number: number,
    expected: Drawn['expected'],
  ): {
    readonly options: InferOptions | undefined;
    readonly wanted: readonly string[];
    readonly controller: AbortController | undefined;
  } {
    const dice = this.#dice;
    const names = Object.keys(expected);
    if (dice.oneIn(2)) return { options: undefined, wanted: names, controller: undefined };
    let controller: AbortController | undefined;
    if (dice.oneIn(3)) {
      controller = dice.oneIn(2) ? new AbortController() : this.#sharedController();
      if (dice.oneIn(30)) controller.abort();
    }
    const wanted = dice.oneIn(4) ? [dice.pick(names)] : names;
    const into: Record<string, Numbers> = {};
    for (const name of wanted) {
      const data = expected[name]?.data;
      if (data !== undefined && dice.oneIn(5)) into[name] = blank(data);
    }
    const options: InferOptions = {
      ...(dice.oneIn(2) ? { id: `request ${number}` } : {}),
      ...(wanted === names ? {} : { outputs: wanted }),
      ...(controller ? { signal: controller.signal } : {}),
      ...(dice.oneIn(5) ? { ownOutputs: true } : {}),
      ...(Object.keys(into).length > 0 ? { into } : {}),
    };
    return { options, wanted, controller };
  }

  #checkError(error: unknown, { limited }: Served, options: InferOptions | undefined, what: string): void {
    assert.ok(error instanceof TritonError, `${what}: ${String(error)}`);
    if (error.code === 'CANCELLED' && options?.signal?.aborted === true) {
      assert.equal(error.cause, options.signal.reason);
      this.outcomes.cancelled++;
    } else if (limited && /maxInFlightBytes is 150000/.test(error.message)) {
      this.outcomes.refused++;
    } else {
      throw new Error(`${what} failed`, { cause: error });
    }
  }

  /** Passes an answer on as the next request's input. */
  async #passOn(
    served: Served,
    name: string,
    { outputs }: Answer,
    expected: Drawn['expected'],
  ): Promise<void> {
    this.#made++;
    const inputs = Object.fromEntries(
      Object.keys(expected).map((output) => [output.replace('y', 'x'), outputs[output]]),
    );
    try {
      const again = await modelOf(served, name).infer(inputs);
      for (const [output, copy] of Object.entries(expected)) checkTensor(again.outputs[output], copy, name);
      this.outcomes.answered++;
    } catch (error) {
      if (!(error instanceof TritonError && /maxInFlightBytes/.test(error.message))) throw error;
      this.outcomes.refused++;
    }
  }

  /** Maps a data set. Its reader may leave early. */
  async #map(served: Served): Promise<void> {
    const dice = this.#dice;
    const [name, kind] = dice.pick(Object.entries(kinds));
    const drawn: Drawn[] = [];
    const count = dice.below(200);
    const items = function* (this: RandomRequests): Generator<Drawn['inputs']> {
      const shape = kind.shape(dice);
      for (let i = 0; i < count; i++) {
        const one = kind.draw(
          dice,
          dice.oneIn(4) ? [1, ...shape.slice(1)] : shape,
          this.#made++,
          () => undefined,
        );
        drawn.push(one);
        yield one.inputs;
      }
    };
    const leaveAt = dice.oneIn(3) ? dice.below(count + 1) : Infinity;
    let at = 0;
    try {
      for await (const { outputs } of modelOf(served, name).map(items.call(this), {
        concurrency: 1 + dice.below(100),
      })) {
        for (const [output, copy] of Object.entries(drawn[at]?.expected ?? {})) {
          checkTensor(outputs[output], copy, `item ${at} of '${name}'`);
        }
        this.outcomes.answered++;
        if (++at >= leaveAt) return;
      }
    } catch (error) {
      // This is a request that could never fit.
      if (!(error instanceof TritonError && /one request needs .* 150000/.test(error.message))) throw error;
      return;
    }
    assert.equal(at, count);
  }

  #sharedController(): AbortController {
    if (this.#shared.length === 0 || this.#dice.oneIn(40)) this.#shared.push(new AbortController());
    return this.#shared.at(-1) ?? new AbortController();
  }

  #abortShared(): void {
    this.#shared.at(-1)?.abort(`reason ${this.#made}`);
    this.#shared.push(new AbortController());
  }

  async #abortSoon(controller: AbortController): Promise<void> {
    const dice = this.#dice;
    const when = dice.below(4);
    if (when === 0) await Promise.resolve();
    else if (when === 1) await turn();
    else if (when === 2) await sleep(dice.below(4));
    controller.abort();
  }

  #checkKept(): void {
    for (const { result, expected } of this.#kept.splice(0)) {
      for (const [name, tensor] of Object.entries(result.outputs)) {
        const copy = expected[name];
        assert.ok(copy);
        checkTensor(tensor, copy, 'an answer that was kept');
        const { data } = tensor;
        if (!Array.isArray(data)) assert.equal(data.buffer.byteLength, data.byteLength);
      }
    }
  }
}
