/**
 * Decides when responses are delivered: on a signal of the engine, in the turn in which they were made, or in
 * the next turns.
 */

import { performance } from 'node:perf_hooks';
import { lookAgain, looksNoMore, type NativePort } from '../../addon/native/port.js';
import type { PromiseSettler } from './settle-promises.js';
import { setImmediate } from '../../timers.js';
import { turnIsYoung } from '../requests/turn.js';

/** The maximum number of responses delivered between two turns of the event loop. */
const deliveriesATurn = 1024;
/** How long deliveries may hold the event loop, in milliseconds. */
const deliveryMs = 0.2;

/** Reacts to deliveries. */
export interface Delivered {
  /** Called when the header lists `count` new pages. */
  deliver(count: number): void;
  /** Called when some responses were read. */
  read(): void;
}

/** See the head of this file. An engine connection has one. */
export class DeliverySchedule {
  readonly #native: Pick<NativePort, 'look'>;
  readonly #reader: PromiseSettler;
  readonly #owner: Delivered;
  /** Whether pages are being read, or will be in the event loop's next turn. */
  #delivering = false;
  /** Whether this object polls for responses in the event loop's next turn. If not, a signal announces them. */
  #looking = false;
  #detached = false;

  constructor(native: Pick<NativePort, 'look'>, reader: PromiseSettler, owner: Delivered) {
    this.#native = native;
    this.#reader = reader;
    this.#owner = owner;
  }

  /** Whether responses are being delivered, or will be in the next turn of the event loop. */
  get delivering(): boolean {
    return this.#delivering;
  }

  /** Stops all deliveries, for good. */
  detach(): void {
    this.#detached = true;
  }

  /**
   * Starts to poll for responses, unless polling already. It polls again in each turn of the event loop while
   * that is likely to pay.
   */
  startLooking(): void {
    if (!this.#looking) this.#look();
  }

  /**
   * Delivers responses of batches that a submission ran itself: now, or in the next turn if this turn's time is
   * used up.
   */
  deliverOwn(): void {
    if (this.#delivering) return;
    if (turnIsYoung()) this.deliverNow();
    else this.#deliverSoon();
  }

  /** Delivers the ready responses, unless a delivery is in progress. */
  deliverNow(): void {
    if (!this.#delivering) this.#drain();
  }

  #look(): void {
    this.#looking = false;
    if (this.#detached) return;
    const found = this.#native.look();
    if (found === looksNoMore) return;
    this.#looking = true;
    setImmediate(this.#lookAgain);
    if (found !== lookAgain) this.#owner.deliver(found);
  }

  readonly #lookAgain = (): void => {
    this.#look();
  };

  #drain(): void {
    if (this.#detached) return;
    // A caller that gets its response may make requests, which may lead to another delivery. This loop then
    // reads their responses, too.
    this.#delivering = true;
    let more = true;
    try {
      more = this.#reader.read(deliveriesATurn, performance.now() + deliveryMs);
    } finally {
      if (more) this.#deliverSoon();
      else this.#delivering = false;
    }
    this.#owner.read();
  }

  #deliverSoon(): void {
    this.#delivering = true;
    setImmediate(this.#drainLater);
  }

  readonly #drainLater = (): void => {
    this.#drain();
  };
}
