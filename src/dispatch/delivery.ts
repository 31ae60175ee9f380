/** When answers are delivered: with a signal of the engine, in the turn they were made in, or with the next ones. */

import { performance } from 'node:perf_hooks';
import { lookAgain, looksNoMore, type NativePort } from '../addon/native.js';
import type { Completions } from './completions.js';
import { setImmediate } from './timers.js';
import { turnIsYoung } from './turn.js';

/** Deliveries between two turns of the event loop. */
const deliveriesATurn = 1024;
/** How long deliveries may hold the event loop, in milliseconds. */
const deliveryMs = 0.2;

/** Told of what was delivered. */
export interface Delivered {
  /** The header names `count` pages. */
  deliver(count: number): void;
  /** Some of what there was is read. */
  read(): void;
}

/** See the head of this file. One a dispatcher. */
export class Delivery {
  readonly #native: Pick<NativePort, 'look'>;
  readonly #completions: Completions;
  readonly #owner: Delivered;
  /** Pages are being read, or will be with the event loop's next turn. */
  #delivering = false;
  /** Whether this looks for answers with the event loop's next turn; else a signal announces them. */
  #looking = false;
  #detached = false;

  constructor(native: Pick<NativePort, 'look'>, completions: Completions, owner: Delivered) {
    this.#native = native;
    this.#completions = completions;
    this.#owner = owner;
  }

  /** Whether answers are being delivered, or will be with the next turn of the event loop. */
  get delivering(): boolean {
    return this.#delivering;
  }

  /** From now on nothing is delivered. */
  detach(): void {
    this.#detached = true;
  }

  /** Looks for answers, and again with the next turn of the event loop where that is worth it; if it does not already. */
  startLooking(): void {
    if (!this.#looking) this.#look();
  }

  /** Delivers what a submission ran itself: now, or after others had their turn of the event loop. */
  deliverOwn(): void {
    if (this.#delivering) return;
    if (turnIsYoung()) this.deliverNow();
    else this.#deliverSoon();
  }

  /** Delivers what there is, unless that goes on already. */
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
    // Those who get answers may ask for more, and so for deliveries: what comes then is read in here.
    this.#delivering = true;
    let more = true;
    try {
      more = this.#completions.read(deliveriesATurn, performance.now() + deliveryMs);
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
