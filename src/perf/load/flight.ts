/** A request under way. Each slot of a load has one, which serves its requests one after the other. */

import type { RequestSequence } from '../../api/request-sequence.js';
import type { Step } from '../inputs/step.js';

/** Is told when a request has ended. */
export interface FlightOwner {
  /** @param error - Why it failed; undefined if it succeeded. */
  landed(flight: Flight, error: unknown): void;
}

/** See the head of this file. Times are those of `performance.now()`. */
export class Flight {
  readonly #owner: FlightOwner;
  step: Step;
  /** The place in a sequence; undefined for models without sequences. */
  sequence: RequestSequence | undefined;
  sentMs = 0;
  /** When the request was written completely. */
  writtenMs = 0;
  /** When the first byte of the last response arrived. */
  answeredMs = 0;
  /** When each response of a stream arrived; empty for other requests. */
  readonly responsesMs: number[] = [];

  constructor(owner: FlightOwner, step: Step) {
    this.#owner = owner;
    this.step = step;
  }

  /** Prepares it for the next request. */
  begin(step: Step, sequence: RequestSequence | undefined): void {
    this.step = step;
    this.sequence = sequence;
    this.sentMs = 0;
  }

  /** Called by the target just before it sends the request. If it is sent again, the first time counts. */
  sending(): void {
    this.writtenMs = performance.now();
    if (this.sentMs === 0) this.sentMs = this.writtenMs;
    this.answeredMs = 0;
    this.responsesMs.length = 0;
  }

  /** Called by the target when the request has ended, once, and never before `send` has returned. */
  land(error?: unknown): void {
    this.#owner.landed(this, error);
  }
}
