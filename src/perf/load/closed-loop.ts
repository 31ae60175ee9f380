/** A number of callers, each of which sends its next request when the one before has ended. */

import type { Recording } from '../measure/recording.js';
import type { Target } from '../targets/target.js';
import { Load, type Slot } from './load.js';
import type { StepSources } from './step-source.js';

/** See the head of this file. */
export class ClosedLoop extends Load {
  readonly #concurrency: number;
  #left: number;

  /** @param most - How many requests are sent in all. */
  constructor(
    target: Target,
    sources: StepSources,
    recording: Recording,
    failed: (error: unknown) => void,
    concurrency: number,
    most: number = Infinity,
  ) {
    super(target, sources, recording, failed);
    this.#concurrency = concurrency;
    this.#left = most;
  }

  start(): void {
    for (let i = 0; i < this.#concurrency; i++) this.freed(this.makeSlot());
  }

  protected halt(): void {
    this.#left = 0;
  }

  protected freed(slot: Slot): void {
    if (this.#left <= 0) return;
    this.#left--;
    this.send(slot);
  }
}
