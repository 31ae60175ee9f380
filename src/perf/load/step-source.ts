/** Chooses the data of each request, and its place in a sequence. */

import type { RequestSequence } from '../../api/request-sequence.js';
import type { Random } from '../inputs/random.js';
import type { Step, StepStream } from '../inputs/step.js';

/** How sequences are made. */
export interface SequencePlan {
  /** Steps of a sequence; undefined: as many as its data has. */
  readonly length: number | undefined;
  /** How much lengths vary, in percent. */
  readonly variation: number;
  /** The first correlation id. */
  readonly firstId: number;
  /** The last correlation id; after it the first one follows. */
  readonly lastId: number;
}

/** The data of the next request. */
export interface NextStep {
  readonly step: Step;
  readonly sequence: RequestSequence | undefined;
}

/** Gives the requests of one slot their data. */
export interface StepSource {
  /** @param last - Whether an open sequence must end with this request. */
  next(last: boolean): NextStep;
  /** Whether a sequence has begun and not ended. */
  readonly open: boolean;
  /** Gives up the open sequence, one of whose requests was refused, and its id. */
  abandon(): void;
}

/** Makes sources that share their data. */
export class StepSources {
  readonly #streams: readonly [StepStream, ...StepStream[]];
  /** The steps of all streams. */
  readonly #steps: readonly Step[];
  readonly #plan: SequencePlan | undefined;
  readonly #random: Random;
  #turn = 0;
  #id: number;
  /** The ids of sequences that may be open. */
  readonly #used: Set<number> = new Set();

  /** @param plan - Undefined for models without sequences. */
  constructor(
    streams: readonly [StepStream, ...StepStream[]],
    plan: SequencePlan | undefined,
    random: Random,
  ) {
    this.#streams = streams;
    this.#steps = streams.flat();
    this.#plan = plan;
    this.#random = random;
    this.#id = plan?.firstId ?? 0;
  }

  /** A source for a slot. */
  source(): StepSource {
    const plan = this.#plan;
    return plan === undefined
      ? new PlainSource(() => this.#nextStep())
      : new SequenceSource(
          () => this.#begin(plan),
          (id) => this.#used.delete(id),
        );
  }

  /** The next step in turn, of all streams one after the other. */
  #nextStep(): Step {
    return this.#steps[this.#turn++ % this.#steps.length] ?? this.#streams[0][0];
  }

  #begin(plan: SequencePlan): BegunSequence {
    const [first] = this.#streams;
    const stream = this.#streams[this.#turn++ % this.#streams.length] ?? first;
    // Sequences differ in length, so that an id may be taken when its turn comes. There are at least as many ids as sources.
    let id = this.#id;
    while (this.#used.has(id)) id = after(id, plan);
    this.#used.add(id);
    this.#id = after(id, plan);
    const length = plan.length ?? stream.length;
    const spread = plan.length === undefined ? 0 : plan.variation / 100;
    const varied = Math.round(length * (1 + spread * (2 * this.#random() - 1)));
    return { id, stream, length: Math.max(1, varied) };
  }
}

function after(id: number, { firstId, lastId }: SequencePlan): number {
  return id >= lastId ? firstId : id + 1;
}

class PlainSource implements StepSource {
  readonly open = false as const;
  readonly #next: () => Step;

  constructor(next: () => Step) {
    this.#next = next;
  }

  next(): NextStep {
    return { step: this.#next(), sequence: undefined };
  }

  abandon(): void {
    // There are no sequences.
  }
}

interface BegunSequence {
  readonly id: number;
  readonly stream: StepStream;
  readonly length: number;
}

class SequenceSource implements StepSource {
  readonly #begin: () => BegunSequence;
  readonly #release: (id: number) => void;
  #sequence: BegunSequence | undefined;
  /** The id that it holds, until its last request has ended. */
  #held: number | undefined;
  #at = 0;

  constructor(begin: () => BegunSequence, release: (id: number) => void) {
    this.#begin = begin;
    this.#release = release;
  }

  get open(): boolean {
    return this.#sequence !== undefined;
  }

  abandon(): void {
    this.#sequence = undefined;
    if (this.#held !== undefined) this.#release(this.#held);
    this.#held = undefined;
  }

  next(last: boolean): NextStep {
    const start = this.#sequence === undefined;
    if (start) {
      this.abandon();
      this.#at = 0;
    }
    const sequence = (this.#sequence ??= this.#begin());
    const { id, stream, length } = sequence;
    this.#held = id;
    const step = stream[this.#at % stream.length] ?? stream[0];
    const end = last || ++this.#at >= length;
    if (end) this.#sequence = undefined;
    return { step, sequence: { id, start, end } };
  }
}
