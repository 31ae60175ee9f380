/** What both kinds of load share: requests are sent, recorded, and end the load if they fail. */

import { TritonError, type TritonErrorReason } from '../../errors.js';
import type { Recording } from '../measure/recording.js';
import type { Target } from '../targets/target.js';
import { Flight, type FlightOwner } from './flight.js';
import type { StepSource, StepSources } from './step-source.js';
import { endsWithin } from '../../time-limit.js';

/** How long requests under way are waited for at the end of a load, in milliseconds. */
const drainMs = 10_000;

/** Refusals by a server that is busy. They are counted, and the load goes on. */
const busy: ReadonlySet<TritonErrorReason> = new Set(['QUEUE_FULL', 'TIMED_OUT', 'TOO_MUCH_IN_FLIGHT']);

/** Whether the server refused a request because it was busy. Servers of other software give no reason. */
function isBusy(error: unknown): error is TritonError {
  if (!(error instanceof TritonError) || error.code !== 'UNAVAILABLE') return false;
  return error.reason === undefined || busy.has(error.reason);
}

/** A slot: one request at a time. */
export interface Slot {
  readonly flight: Flight;
  readonly source: StepSource;
  /** Whether its request is under way. */
  busy: boolean;
}

/** See the head of this file. */
export abstract class Load implements FlightOwner {
  readonly #target: Target;
  readonly #sources: StepSources;
  readonly #recording: Recording;
  readonly #slots: Map<Flight, Slot> = new Map();
  readonly #failed: (error: unknown) => void;
  #underWay = 0;
  /** Whether a request has failed, so that none follows. */
  #broken = false;
  #drained: (() => void) | undefined;
  protected stopping = false;

  /** @param failed - Called for the first request that fails otherwise than because the server is busy. */
  constructor(target: Target, sources: StepSources, recording: Recording, failed: (error: unknown) => void) {
    this.#target = target;
    this.#sources = sources;
    this.#recording = recording;
    this.#failed = failed;
  }

  /** Begins to send. */
  abstract start(): void;

  /**
   * Stops to send, ends open sequences, and waits until nothing is under way, for a time at most.
   *
   * @returns Whether nothing is under way.
   */
  async stop(limitMs: number = drainMs): Promise<boolean> {
    this.stopping = true;
    this.halt();
    // Sequences that are open end with one more request; those with a request under way do so when it has ended.
    for (const slot of this.#slots.values()) if (!slot.busy && slot.source.open) this.send(slot);
    if (this.#underWay > 0)
      await endsWithin(new Promise<void>((resolve) => (this.#drained = resolve)), limitMs);
    // Their ids are free for the next load.
    for (const { source } of this.#slots.values()) source.abandon();
    return this.#underWay === 0;
  }

  /** How many requests are under way. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Stops timers. Requests that end from now on are not followed by others. */
  protected abstract halt(): void;
  /** Called when a request of a slot has ended, and a next one may be sent. */
  protected abstract freed(slot: Slot): void;

  protected makeSlot(): Slot {
    const source = this.#sources.source();
    // The first step is replaced when it is sent.
    const flight = new Flight(this, noStep);
    const slot = { flight, source, busy: false };
    this.#slots.set(flight, slot);
    return slot;
  }

  /** @param lateMs - How much later than scheduled; undefined: it was not scheduled. */
  protected send(slot: Slot, lateMs?: number): void {
    const { flight, source } = slot;
    const { step, sequence } = source.next(this.stopping);
    flight.begin(step, sequence);
    slot.busy = true;
    this.#underWay++;
    if (lateMs !== undefined) this.#recording.current.lateness.add(lateMs);
    this.#target.send(flight);
  }

  landed(flight: Flight, error: unknown): void {
    const now = performance.now();
    this.#underWay--;
    const slot = this.#slots.get(flight);
    if (slot !== undefined) slot.busy = false;
    if (error === undefined) this.#record(flight, now);
    else if (isBusy(error)) {
      this.#recording.current.refuse(error.message);
      slot?.source.abandon();
    } else {
      slot?.source.abandon();
      if (!this.stopping) {
        this.#broken = true;
        this.#failed(error);
      }
    }
    if (slot !== undefined) {
      if (!this.stopping && !this.#broken) this.freed(slot);
      else if (this.stopping && slot.source.open) this.send(slot);
    }
    if (this.stopping && this.#underWay === 0) this.#drained?.();
  }

  #record({ sentMs, writtenMs, answeredMs, responsesMs, sequence }: Flight, now: number): void {
    const tally = this.#recording.current;
    tally.requests++;
    tally.latency.add(now - sentMs);
    tally.sendMs += writtenMs - sentMs;
    if (answeredMs > 0) tally.receiveMs += now - answeredMs;
    if (sequence?.end === true) tally.sequences++;
    let before: number | undefined;
    for (const at of responsesMs) {
      if (before === undefined) tally.first.add(at - sentMs);
      else tally.gaps.add(at - before);
      before = at;
    }
    tally.responses += responsesMs.length;
  }
}

const noStep = { index: 0, inputs: {}, expected: undefined } as const;
