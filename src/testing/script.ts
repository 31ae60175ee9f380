/** What a test has said of a model: faults, delays, batches by hand. */

import type { NativeVersionConfig } from '../addon/native/version-config.js';
import { statusNumber } from '../addon/status.js';
import { checkKeys, checkObject, expected } from '../argument-checks.js';
import { invalidArgument, TritonError } from '../errors.js';
import { longestTimerMs } from '../time-limit.js';
import type { TestClock } from './clock.js';
import type { EngineRequest } from './engine/request.js';
import type { HandBatch, Stage } from './engine/stage.js';
import { randomOf } from './random.js';
import { Recorded } from './records.js';

/**
 * Which requests fail.
 *
 * @example
 * server.fail('digits', new TritonError('UNAVAILABLE', 'busy', { reason: 'QUEUE_FULL' }), { next: 2 });
 */
export interface FailOptions {
  /** How many of the next requests fail (default 1, without `share`). Infinity: all. */
  readonly next?: number | undefined;
  /** Which part of the requests fails at random, from 0 to 1, instead of the next ones. The last call's holds. */
  readonly share?: number | undefined;
  /** Determines which ones (default 1): the same seed chooses the same requests in each run. */
  readonly seed?: number | undefined;
}

/** See the head of this file. A server has one for each name. */
export class Script implements Stage {
  readonly #model: string;
  readonly #clock: TestClock;
  readonly #record: (request: Recorded) => void;
  readonly #failures: { error: TritonError; left: number }[] = [];
  #random: { readonly error: TritonError; readonly share: number; readonly next: () => number } | undefined;
  #delayMs = 0;
  isHeld = false;
  readonly byHand: HandBatch[] = [];
  /** Ends what the test waits for, of its batches that have not run to their end. */
  readonly #unsettled: Map<HandBatch, (why: string) => void> = new Map();
  /** Batches that wait for their delay. Each calls its function once. */
  readonly #delayed: Set<() => void> = new Set();
  onChange: () => void = () => undefined;

  constructor(model: string, clock: TestClock, record: (request: Recorded) => void) {
    this.#model = model;
    this.#clock = clock;
    this.#record = record;
  }

  arrived(request: EngineRequest, version: number, config: NativeVersionConfig): void {
    const recorded = new Recorded(this.#model, version, request, config);
    request.notes = recorded;
    this.#record(recorded);
    const error = this.#fault();
    if (error === undefined) return;
    request.fault = { code: statusNumber(error.code, error.reason), message: error.message };
  }

  delay(go: () => void): void {
    if (this.#delayMs === 0) {
      go();
      return;
    }
    const once = (): void => {
      if (this.#delayed.delete(once)) go();
    };
    this.#delayed.add(once);
    this.#clock.setTimeout(once, this.#delayMs);
  }

  /** @throws {@link TritonError} INVALID_ARG for wrong arguments. */
  fail(error: unknown, options: FailOptions): void {
    if (!(error instanceof TritonError)) throw expected('a TritonError', 'fail', error);
    checkObject(options, 'options');
    checkKeys(options, ['next', 'share', 'seed'], 'options');
    const { share, seed = 1, next = 1 } = options;
    if (!Number.isSafeInteger(seed)) throw expected('a whole number', 'options.seed', seed);
    if (share !== undefined) {
      if (!(typeof (share as unknown) === 'number' && share >= 0 && share <= 1))
        throw expected('a number from 0 to 1', 'options.share', share);
      if (options.next !== undefined)
        throw invalidArgument('expected options.next or options.share, and not both');
      this.#random = { error, share, next: randomOf(seed) };
      return;
    }
    if (!(next >= 1 && (Number.isInteger(next) || next === Infinity)))
      throw expected('a whole number of at least 1, or Infinity', 'options.next', next);
    this.#failures.push({ error, left: next });
  }

  /** Ends all faults, delays and holds that the test has asked for. */
  reset(): void {
    this.#failures.length = 0;
    this.#random = undefined;
    this.#delayMs = 0;
    this.isHeld = false;
    for (const hand of this.byHand.splice(0)) this.#cancel(hand, 'reset() ended the wait for its requests');
    // Their timers may be gone: those of a runner's fake clock go with it.
    for (const go of [...this.#delayed]) go();
    this.onChange();
  }

  /** The server has closed: no request comes any more. */
  closed(): void {
    this.byHand.length = 0;
    for (const hand of [...this.#unsettled.keys()])
      this.#cancel(hand, 'the server was closed before it ended');
  }

  #cancel(hand: HandBatch, why: string): void {
    this.#unsettled.get(hand)?.(why);
  }

  /** @throws {@link TritonError} INVALID_ARG for a time that no timer takes. */
  setDelay(ms: number): void {
    if (!(typeof (ms as unknown) === 'number' && ms >= 0 && ms <= longestTimerMs))
      throw expected(`milliseconds from 0 to ${longestTimerMs}`, 'delay', ms);
    this.#delayMs = ms;
  }

  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    this.onChange();
  }

  /**
   * @throws {@link TritonError} INVALID_ARG, as a rejection, for a count or a batch that the server would not form; CANCELLED, as a
   *   rejection, if {@link reset} or {@link closed} came before.
   */
  batch(count: number): Promise<void> {
    if (!Number.isInteger(count) || count < 1)
      return Promise.reject(expected('a whole number of at least 1', 'batch', count));
    const model = this.#model;
    const { promise, resolve, reject } = withResolvers();
    const hand: HandBatch = {
      count,
      done: () => {
        this.#unsettled.delete(hand);
        resolve();
      },
      refuse: (why) => {
        this.#unsettled.delete(hand);
        reject(invalidArgument(why, { model }));
      },
    };
    this.#unsettled.set(hand, (why) => {
      this.#unsettled.delete(hand);
      // A test that has failed before no longer waits for it: that is no second failure.
      promise.catch(() => undefined);
      reject(
        new TritonError('CANCELLED', `model '${model}': the batch of ${count} requests: ${why}`, { model }),
      );
    });
    this.byHand.push(hand);
    this.onChange();
    return promise;
  }

  #fault(): TritonError | undefined {
    const [next] = this.#failures;
    if (next !== undefined) {
      next.left--;
      if (next.left === 0) this.#failures.shift();
      return next.error;
    }
    const random = this.#random;
    return random !== undefined && random.next() < random.share ? random.error : undefined;
  }
}

interface Resolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (why: Error) => void;
}

function withResolvers(): Resolvers {
  let made: Omit<Resolvers, 'promise'> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    made = { resolve, reject };
  });
  if (made === undefined) throw new Error('a promise calls its function at once');
  return { promise, ...made };
}
