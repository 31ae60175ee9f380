/**
 * Runs the batches of one instance in this environment: takes them from the engine, calls the model, and sends the
 * results back.
 */

import { performance } from 'node:perf_hooks';
import { guessedCaller } from '../../addon/layout.js';
import type { EngineFunctions } from '../../addon/engine-functions.js';
import {
  instanceAgain,
  instanceAsleep,
  instanceClosed,
  instanceNeedsMemory,
  type NativeInstance,
} from '../../addon/native/instance.js';
import { unavailable } from '../../errors.js';
import { codeRerunsInHalves } from '../../scheduling/policy.js';
import { BatchReader, Signals, type Batch } from '../batches/batch.js';
import { failureOf } from '../batches/failures.js';
import { endsWithin } from '../../time-limit.js';
import { inHalves, mayBeAnothers } from '../batches/halves.js';
import { InstanceMemory } from './instance-memory.js';
import { OutputStreams } from '../batches/output-streams.js';
import { ResultWriter } from '../results/results.js';
import { areAwaited, isThenable, settled } from '../results/settle-results.js';
import type { JavaScriptModel } from '../../api/javascript-model.js';
import type { InstanceSpec } from '../versions/version-spec.js';
import { setImmediate } from '../../timers.js';
import { thrownText } from '../../thrown-text.js';

/** How long successive batches may hold the event loop, in milliseconds. */
const mostMs = 1;
/** How long abandoned iterators may take to end before the instance ends, in milliseconds. */
const leaveMs = 500;

/** See the head of this file. */
export class InstanceLoop {
  readonly #spec: InstanceSpec;
  readonly #model: JavaScriptModel;
  readonly #native: NativeInstance;
  readonly #memory: InstanceMemory;
  readonly #reader: BatchReader;
  readonly #writer: ResultWriter;
  readonly #streams: OutputStreams;
  readonly #signals: Signals;
  readonly #underWay: Set<Batch> = new Set();
  /** The objects of the batch that is being read. */
  readonly #objects: unknown[] = [];
  /** Batches whose results are awaited. */
  #awaited = 0;
  #scheduled = false;
  /** Whether memory of batches was detached in this turn of the event loop. */
  #hasDetached = false;
  #draining = false;
  #closed = false;
  /** Whether a batch whose `execute` throws is run again in halves. */
  readonly #mayRunAgain: boolean;
  readonly #ended: Promise<void>;
  #end: () => void = () => undefined;

  /**
   * @param holdsLoop - Whether the event loop stays alive until the instance is closed.
   * @param functions - Those of the server's engine.
   * @throws {@link TritonError} UNAVAILABLE if the instance cannot be attached.
   */
  constructor(
    spec: InstanceSpec,
    model: JavaScriptModel,
    holdsLoop: boolean,
    functions: Pick<EngineFunctions, 'attachInstance'>,
  ) {
    this.#spec = spec;
    this.#model = model;
    const { inboxes, instance, config, cores } = spec;
    this.#mayRunAgain = codeRerunsInHalves(config);
    const native = functions.attachInstance(inboxes, instance.index, this.#wake, holdsLoop, cores);
    if (native === undefined) {
      throw unavailable(
        'CLOSED',
        `model '${spec.model}': instance '${instance.name}' is closed, or has a thread already`,
        { model: spec.model },
      );
    }
    this.#native = native;
    try {
      this.#memory = new InstanceMemory(native);
    } catch (error) {
      // Detach it here, because the constructor fails and no caller could.
      native.detach();
      throw error;
    }
    this.#signals = new Signals(native, spec.model, config);
    this.#reader = new BatchReader(config, this.#signals);
    this.#writer = new ResultWriter(native, this.#memory, spec.model, config);
    this.#streams = new OutputStreams({
      model: spec.model,
      native,
      memory: this.#memory,
      writer: this.#writer,
      signals: this.#signals,
      wake: this.#drainSoon,
      onEnd: (batch) => {
        this.#finish(batch);
      },
    });
    this.#ended = new Promise((resolve) => (this.#end = resolve));
  }

  /** Resolves when the instance is closed and its batches have ended. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** The object that identifies this instance to its requests. */
  get instance(): object {
    return this.#signals;
  }

  /** Starts taking batches. */
  start(): void {
    this.#native.up();
    this.#drain();
  }

  /** Detaches from the instance. Unanswered requests fail. */
  detach(): void {
    this.#closed = true;
    this.#writer.words.flush();
    this.#native.detach();
    this.#end();
  }

  /** The engine's number for a call without a parent: that of the batch under way, if there is only one; else 0. */
  get caller(): number {
    const [only] = this.#underWay;
    if (only === undefined || this.#underWay.size > 1) return 0;
    const number = this.#signals.caller(only, -1);
    return number === 0 ? 0 : number | guessedCaller;
  }

  readonly #wake = (): void => {
    this.#drain();
  };

  readonly #drainLater = (): void => {
    this.#scheduled = false;
    this.#drain();
  };

  readonly #drainSoon = (): void => {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#drainLater);
  };

  #drain(): void {
    if (this.#draining || this.#scheduled || this.#closed) return;
    this.#draining = true;
    try {
      const end = performance.now() + mostMs;
      for (;;) {
        const streamed = this.#streams.step();
        // At the limit of concurrent batches no further batch is taken.
        const ran = this.#awaited < this.#spec.concurrency && this.#runNext(!streamed);
        if (!streamed && !ran) return;
        // Node frees detached memory in a later turn of the event loop. Until then further batches would get cold
        // memory.
        if (performance.now() <= end && !this.#hasDetached) continue;
        this.#hasDetached = false;
        this.#drainSoon();
        return;
      }
    } finally {
      this.#draining = false;
    }
  }

  /**
   * Runs the next batch. Returns false if there is none.
   *
   * @param mayWait - Whether the loop has no other work, so that it may spin for a batch.
   */
  #runNext(mayWait: boolean): boolean {
    const objects = this.#objects;
    objects.length = 0;
    const maySpin = mayWait && this.#awaited === 0 && !this.#streams.isAwaiting;
    this.#writer.words.flush();
    const words = this.#native.next(objects, maySpin);
    if (words > 0) {
      this.#run(objects);
    } else if (words === instanceNeedsMemory) {
      const [needed = 0, bytes = 0] = this.#memory.words;
      try {
        this.#memory.grow(needed, bytes);
      } catch {
        this.#native.refuse();
      }
    } else if (words === instanceClosed) {
      this.#closed = true;
      this.#streams.close();
      this.#endIfDone();
      return false;
    }
    if (words === instanceAgain) this.#streams.listen();
    return words !== instanceAsleep;
  }

  #run(objects: readonly unknown[]): void {
    const batch = this.#read(objects);
    if (batch === undefined) return;
    this.#underWay.add(batch);
    let results: unknown;
    let waits: boolean;
    try {
      // A copy, because the model may modify the list.
      results = this.#model.execute(batch.requests.slice());
      waits = isThenable(results);
    } catch (error) {
      this.#failed(batch, error);
      return;
    }
    // Promise.resolve makes a well-behaved promise of a thenable that throws or settles twice.
    if (waits) this.#await(batch, Promise.resolve(results));
    else if (areAwaited(results, batch.requests.length)) this.#awaitEach(batch, results);
    else this.#sendResults(batch, results);
  }

  /** Sends results, some of which are promises. */
  #awaitEach(batch: Batch, results: readonly unknown[]): void {
    batch.isApart = true;
    this.#await(batch, settled(this.#spec.model, results));
  }

  /** Sends the results of a batch when the promise of `execute` settles. */
  #await(batch: Batch, promised: Promise<unknown>): void {
    this.#awaited++;
    promised.then(
      (results: unknown) => {
        if (areAwaited(results, batch.requests.length)) this.#awaitEach(batch, results);
        else this.#sendResults(batch, results);
        this.#settled();
      },
      (error: unknown) => {
        this.#failed(batch, error);
        this.#settled();
      },
    );
  }

  /** Handles an error of `execute`: runs the batch in halves, or fails it. */
  #failed(batch: Batch, error: unknown): void {
    const { requests } = batch;
    const model = this.#spec.model;
    if (!this.#mayRunAgain || requests.length === 1 || !mayBeAnothers(error)) {
      this.#fail(batch, error);
      return;
    }
    this.#await(
      batch,
      inHalves(
        model,
        requests,
        error,
        (some) => this.#model.execute(some.slice()),
        (one) => batch.ended || this.#native.cancelled(batch.slot, one.position),
      ),
    );
  }

  #read(objects: readonly unknown[]): Batch | undefined {
    try {
      return this.#reader.read(this.#memory.words, this.#memory.bytes, objects);
    } catch (error) {
      // There was no memory for the batch's inputs.
      const slot = this.#memory.words[0] ?? 0;
      this.#memory.words.set([2, -1, 5, ~0]);
      const message = thrownText(error);
      this.#native.answer(slot, 4, [`model '${this.#spec.model}': ${message}`], true);
      return undefined;
    }
  }

  #settled(): void {
    this.#awaited--;
    this.#endIfDone();
    this.#drain();
  }

  #endIfDone(): void {
    if (!this.#closed || this.#awaited > 0) return;
    const { leaving } = this.#streams;
    if (leaving.length === 0) this.#end();
    else {
      void endsWithin(Promise.allSettled(leaving), leaveMs).then(() => {
        this.#end();
      });
    }
  }

  #sendResults(batch: Batch, results: unknown): void {
    let streams: ReturnType<ResultWriter['send']>;
    try {
      streams = this.#writer.send(batch, results);
    } catch (error) {
      // A getter or a proxy among the results has thrown.
      this.#fail(batch, error);
      return;
    }
    if (streams.length === 0) {
      this.#finish(batch);
      return;
    }
    this.#streams.open(batch, streams);
    this.#native.part(batch.slot);
    // Inside of the drain loop the streams get their turn next; otherwise schedule it.
    if (!this.#draining) this.#drainSoon();
  }

  #fail(batch: Batch, error: unknown): void {
    this.#writer.fail(batch, failureOf(this.#spec.model, error));
    this.#finish(batch);
  }

  #finish(batch: Batch): void {
    batch.ended = true;
    this.#underWay.delete(batch);
    if (batch.buffers.length === 0) return;
    this.#native.detachBuffers(batch.buffers);
    this.#hasDetached = true;
  }
}
