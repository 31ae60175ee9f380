/** A version of a model: its queue, and the batches that are formed of it. */

import type { NativeStatus } from '../../addon/native/status.js';
import type { NativeVersionConfig } from '../../addon/native/version-config.js';
import { sequenceUnknown } from '../../addon/sequence-fates.js';
import { statusNumber } from '../../addon/status.js';
import { Counts } from './counts.js';
import { EngineBatch, type BatchOwner, type Inbox } from './inbox.js';
import { areTooMany } from './pages.js';
import { fullness, mostWaiting } from './queue-limits.js';
import { now, type EngineInput, type EngineOutput, type EngineRequest } from './request.js';
import { Sequences } from './sequences.js';
import { soon } from './soon.js';
import type { HandBatch, Stage } from './stage.js';

/** Why a batch has no more requests: the engine's numbers (`ClosedBy`). */
const closedBy = { full: 0, shape: 3, nothingMore: 4, priority: 5 };

/** The requests of a batch. */
interface Chosen {
  readonly requests: readonly EngineRequest[];
  readonly closedBy: number;
  /** How many requests wait that are not among them. */
  readonly left: number;
}

/** See the head of this file. */
export class TestVersion implements BatchOwner {
  readonly name: string;
  readonly number: number;
  readonly inbox: Inbox;
  readonly counts: Counts = new Counts();
  readonly #stage: Stage;
  #config: NativeVersionConfig | undefined;
  #sequences: Sequences | undefined;
  #queue: EngineRequest[] = [];
  /** Requests that have not ended. */
  readonly #open: Set<EngineRequest> = new Set();
  #running = 0;
  #dispatches = false;
  #isClosed = false;
  #onDrained: (() => void)[] = [];
  readonly #handMade: Map<EngineBatch, HandBatch> = new Map();

  constructor(name: string, number: number, inbox: Inbox, stage: Stage) {
    this.name = name;
    this.number = number;
    this.inbox = inbox;
    this.#stage = stage;
    inbox.onUp = (): void => {
      this.dispatchSoon();
    };
  }

  get isDecoupled(): boolean {
    return this.#config?.decoupled === true;
  }

  get isIdle(): boolean {
    return this.#open.size === 0;
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** As `NativeServer.sequenceFate`. */
  sequenceFate(id: bigint | string): number {
    return this.#sequences?.fateOf(id) ?? sequenceUnknown;
  }

  /** Lets the version serve. */
  start(config: NativeVersionConfig): void {
    this.#config = config;
    const { sequences, maxBatchSize } = config;
    this.#sequences = sequences && new Sequences(this.name, sequences, maxBatchSize > 0);
  }

  /** Takes requests, or fails them. */
  accept(requests: readonly EngineRequest[]): void {
    for (const request of requests) {
      if (this.#isClosed || this.#config === undefined) {
        const message = "the model's version was unloaded";
        request.fail({ status: { code: statusNumber('UNAVAILABLE', 'NOT_READY'), message }, unserved: true });
        continue;
      }
      const refused = this.#sequences?.admit(request);
      if (refused !== undefined) {
        this.counts.refused();
        request.fail({ status: refused });
        continue;
      }
      if (this.#fullness(request) !== undefined) this.#dispatch();
      const full = this.#fullness(request);
      if (full !== undefined) {
        this.counts.refused();
        request.fail({ status: full, limited: true });
        continue;
      }
      this.#stage.arrived(request, this.number, this.#config);
      this.#open.add(request);
      this.#enqueue(request);
    }
    this.dispatchSoon();
  }

  cancel(request: EngineRequest): void {
    if (request.isDone) return;
    request.cancelled = true;
    const at = this.#queue.indexOf(request);
    if (at < 0) return;
    // A sequence ends with a waiting request that is cancelled: those behind it would miss what it does to the state.
    const behind = this.#queue.slice(at + 1).filter((one) => this.#sequences?.areOne(request, one) === true);
    this.#sequences?.cancel(request);
    this.#queue = this.#queue.filter((one) => one !== request && !behind.includes(one));
    for (const one of [request, ...behind]) {
      one.cancelled = true;
      this.#failCancelled(one);
    }
  }

  /** Takes no more requests. `done` is called when those that it took have ended. */
  close(done: () => void): void {
    this.#isClosed = true;
    this.#onDrained.push(done);
    this.#drain();
  }

  /** Ends the requests that are still open. */
  cutOff(): void {
    for (const request of this.#queue.splice(0)) {
      this.fail(request, this.#status('CANCELLED', 'the server was closed before the request ran'));
    }
    for (const request of this.#open) {
      request.cancelled = true;
      this.fail(request, this.#status('CANCELLED', 'the request was cancelled'));
    }
  }

  /** Forms batches after the code that runs now. */
  dispatchSoon(): void {
    if (this.#dispatches) return;
    this.#dispatches = true;
    soon(() => {
      this.#dispatches = false;
      this.#dispatch();
    });
  }

  inputsOf(request: EngineRequest): readonly EngineInput[] {
    return this.#sequences === undefined
      ? request.inputs
      : [...request.inputs, ...this.#sequences.inputsOf(request)];
  }

  respond(
    batch: EngineBatch,
    request: EngineRequest,
    made: readonly EngineOutput[],
    isFinal: boolean,
    parameters?: Int32Array,
  ): void {
    if (request.isDone || this.#failCancelled(request)) return;
    const { wanted } = request.head;
    const kept = this.#sequences?.keep(request, made) ?? made;
    const outputs = wanted === undefined ? kept : kept.filter(({ index }) => wanted.includes(index));
    if (areTooMany(outputs, parameters)) {
      const also = parameters === undefined ? '' : ' and parameters';
      const message = `too many outputs${also} for one response`;
      this.fail(request, { code: statusNumber('INTERNAL', undefined), message });
      return;
    }
    request.notes?.responded(outputs);
    if (isFinal) {
      this.#ended(request);
      this.counts.succeeded(request, batch.times);
      request.notes?.ended(undefined, batch.times.rows);
    }
    request.head.sink.respond(request, outputs, isFinal, batch.times, parameters);
  }

  fail(request: EngineRequest, status: NativeStatus): void {
    if (request.isDone) return;
    this.counts.failed(request);
    this.#sequences?.end(request);
    this.#open.delete(request);
    request.fail({ status });
    this.#drain();
  }

  end(batch: EngineBatch, request: EngineRequest): void {
    if (request.isDone || this.#failCancelled(request)) return;
    this.#ended(request);
    this.counts.succeeded(request, batch.times);
    request.notes?.ended(undefined, batch.times.rows);
    request.head.sink.end(request);
  }

  again(request: EngineRequest): void {
    if (request.isDone) return;
    this.#sequences?.end(request);
    if (this.#failCancelled(request)) return;
    request.state = 'waiting';
    this.#enqueue(request);
    this.dispatchSoon();
  }

  free(): void {
    this.#running--;
    this.dispatchSoon();
  }

  done(batch: EngineBatch): void {
    this.counts.ran(batch);
    this.#handMade.get(batch)?.done();
    this.#handMade.delete(batch);
    this.dispatchSoon();
  }

  /** Fails a request that its caller no longer wants. Returns whether it did. */
  #failCancelled(request: EngineRequest): boolean {
    if (request.cancelled) this.fail(request, this.#status('CANCELLED', 'the request was cancelled'));
    return request.cancelled;
  }

  #ended(request: EngineRequest): void {
    request.state = 'done';
    this.#sequences?.end(request);
    this.#open.delete(request);
    this.#drain();
  }

  #drain(): void {
    if (!this.#isClosed || this.#open.size > 0) return;
    for (const done of this.#onDrained.splice(0)) done();
  }

  #status(code: 'CANCELLED', what: string): NativeStatus {
    return { code: statusNumber(code, undefined), message: `model '${this.name}': ${what}` };
  }

  #levelOf({ head: { priority } }: EngineRequest): number {
    return priority === 0 ? (this.#config?.queue?.defaultLevel ?? 0) : priority;
  }

  /** Adds a request behind those of its priority. */
  #enqueue(request: EngineRequest): void {
    const level = this.#levelOf(request);
    const at = this.#queue.findLastIndex((other) => this.#levelOf(other) <= level);
    this.#queue.splice(at + 1, 0, request);
  }

  /** Why the queue takes no further request of its priority; undefined: it does. */
  #fullness(request: EngineRequest): NativeStatus | undefined {
    const level = this.#levelOf(request);
    const waiting = this.#queue.filter((other) => this.#levelOf(other) === level).length;
    const why = fullness(this.#config?.queue, level, waiting);
    if (why === undefined) return undefined;
    return { code: statusNumber('UNAVAILABLE', 'QUEUE_FULL'), message: `model '${this.name}': ${why}` };
  }

  #dispatch(): void {
    this.#refuseByHand();
    while (this.inbox.isUp && this.#running < this.inbox.concurrency) {
      const [hand] = this.#stage.byHand;
      if (hand === undefined && this.#stage.isHeld) return;
      const chosen = hand === undefined ? this.#choose() : this.#chooseByHand(hand);
      if (chosen.requests.length === 0) return;
      if (hand !== undefined) this.#stage.byHand.shift();
      this.#run(chosen, hand);
    }
  }

  /** The requests that may run now. */
  #ready(): EngineRequest[] {
    const sequences = this.#sequences;
    return sequences === undefined ? this.#queue : this.#queue.filter((one) => sequences.mayRun(one));
  }

  /** The next batch, as the server forms it. */
  #choose(): Omit<Chosen, 'left'> {
    const [first, ...others] = this.#ready();
    if (first === undefined) return { requests: [], closedBy: closedBy.nothingMore };
    const scheduling = this.#config?.scheduling;
    if (scheduling === undefined) return { requests: [first], closedBy: closedBy.full };
    const requests = [first];
    let { rows } = first.head;
    let why = closedBy.nothingMore;
    for (const other of others) {
      if (this.#levelOf(other) !== this.#levelOf(first)) return { requests, closedBy: closedBy.priority };
      if (!this.#isLike(first, other)) {
        why = closedBy.shape;
        if (scheduling.acrossShapes) continue;
        break;
      }
      if (rows + other.head.rows > scheduling.maxBatchSize) return { requests, closedBy: closedBy.full };
      requests.push(other);
      rows += other.head.rows;
    }
    return { requests, closedBy: rows === scheduling.maxBatchSize ? closedBy.full : why };
  }

  /** Refuses batches of so many requests that the server forms none of them, whichever requests come. */
  #refuseByHand(): void {
    const { byHand } = this.#stage;
    for (const hand of byHand.filter(({ count }) => count > 1)) {
      const why = this.#whyNever(hand.count);
      if (why === undefined) continue;
      byHand.splice(byHand.indexOf(hand), 1);
      this.#refuse(hand, why);
    }
  }

  #refuse(hand: HandBatch, why: string): void {
    hand.refuse(`model '${this.name}': the server forms no batch of ${hand.count} requests: ${why}`);
  }

  #whyNever(count: number): string | undefined {
    if (this.#config === undefined) return undefined;
    const { scheduling } = this.#config;
    if (scheduling === undefined) {
      return 'its configuration has no dynamic_batching with a max_batch_size, so each request runs alone';
    }
    if (count > scheduling.maxBatchSize)
      return `they have at least ${count} rows, and max_batch_size is ${scheduling.maxBatchSize}`;
    const most = mostWaiting(this.#config.queue);
    return count > most ? `its queue has room for ${most} of them, by max_queue_size` : undefined;
  }

  /** The batch that the test forms; empty, if not enough requests wait or the server would not form it. */
  #chooseByHand(hand: HandBatch): Omit<Chosen, 'left'> {
    const none = { requests: [], closedBy: closedBy.nothingMore };
    const requests = this.#ready().slice(0, hand.count);
    if (requests.length < hand.count) return none;
    const why = this.#whyNot(requests);
    if (why === undefined) return { requests, closedBy: closedBy.full };
    this.#stage.byHand.shift();
    this.#refuse(hand, why);
    this.dispatchSoon();
    return none;
  }

  #whyNot(batch: readonly EngineRequest[]): string | undefined {
    const [first] = batch;
    if (batch.length === 1 || first === undefined) return undefined;
    const scheduling = this.#config?.scheduling;
    if (scheduling === undefined) return this.#whyNever(batch.length);
    const rows = batch.reduce((sum, { head }) => sum + head.rows, 0);
    if (rows > scheduling.maxBatchSize)
      return `they have ${rows} rows, and max_batch_size is ${scheduling.maxBatchSize}`;
    if (batch.some((one) => this.#levelOf(one) !== this.#levelOf(first))) return 'their priorities differ';
    return batch.every((one) => this.#isLike(first, one)) ? undefined : 'their inputs have different shapes';
  }

  /** Whether two requests may run together: they have the same inputs, of the same shapes but for the rows. */
  #isLike(one: EngineRequest, other: EngineRequest): boolean {
    const specs = this.#config?.inputs ?? [];
    return (
      one.inputs.length === other.inputs.length &&
      one.inputs.every(({ index, shape, bytes }, i) => {
        const second = other.inputs[i];
        if (second?.index !== index) return false;
        if (specs[index]?.ragged === true) return true;
        if (specs[index]?.rowsInValues === true) return areEqual(bytes.subarray(0), second.bytes);
        return (
          shape.length === second.shape.length && shape.every((dim, d) => d === 0 || dim === second.shape[d])
        );
      })
    );
  }

  #run({ requests, closedBy }: Omit<Chosen, 'left'>, hand: HandBatch | undefined): void {
    this.#running++;
    this.#queue = this.#queue.filter((one) => !requests.includes(one));
    const chosen = { requests, closedBy, left: this.#queue.length };
    for (const request of requests) {
      request.state = 'running';
      this.#sequences?.begin(request);
    }
    this.#stage.delay(() => {
      this.#hand(chosen, hand);
    });
  }

  /** Gives a batch to the instance, without the requests that are to fail. */
  #hand(chosen: Chosen, hand: HandBatch | undefined): void {
    const run = chosen.requests.filter((request) => {
      if (request.isDone) return false;
      if (this.#failCancelled(request)) return false;
      if (request.fault !== undefined) this.fail(request, request.fault);
      else return true;
      return false;
    });
    if (run.length === 0) {
      hand?.done();
      this.free();
      return;
    }
    const batch = new EngineBatch(this, run, chosen, now());
    if (hand !== undefined) this.#handMade.set(batch, hand);
    this.inbox.waiting.push(batch);
    this.inbox.onWake();
  }
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}
