/**
 * Runs the batches of one instance in this environment: takes them from the engine, calls the model, and gives
 * its results back.
 */

import { performance } from 'node:perf_hooks';
import { addon } from '../addon/load.js';
import {
  instanceAgain,
  instanceAsleep,
  instanceClosed,
  instanceNeedsMemory,
  type NativeInstance,
} from '../addon/native.js';
import { TritonError } from '../errors.js';
import { BatchReader, Signals, type Batch } from './batch.js';
import { failureOf } from './failures.js';
import { InstanceMemory } from './instance-memory.js';
import { ResultWriter } from './results.js';
import type { JavaScriptModel } from './types.js';
import type { InstanceSpec } from './version-spec.js';

/** How long batches that follow each other may hold the event loop, in milliseconds. */
const mostMs = 1;

/** See the head of this file. */
export class InstanceLoop {
  readonly #spec: InstanceSpec;
  readonly #model: JavaScriptModel;
  readonly #native: NativeInstance;
  readonly #memory: InstanceMemory;
  readonly #reader: BatchReader;
  readonly #writer: ResultWriter;
  /** What belongs to the batch that is being taken. */
  readonly #objects: unknown[] = [];
  /** Batches whose results are awaited. */
  #awaited = 0;
  #scheduled = false;
  #draining = false;
  #closed = false;
  readonly #ended: Promise<void>;
  #end: () => void = () => undefined;

  /**
   * @param holdsLoop - Whether the event loop stays alive until the instance is closed.
   * @throws {@link TritonError} UNAVAILABLE if the instance cannot be attached.
   */
  constructor(spec: InstanceSpec, model: JavaScriptModel, holdsLoop: boolean) {
    this.#spec = spec;
    this.#model = model;
    const { inboxes, instance, config, cores } = spec;
    const native = addon().attachInstance(inboxes, instance.index, this.#wake, holdsLoop, cores);
    if (native === undefined) {
      throw new TritonError(
        'UNAVAILABLE',
        `model '${spec.model}': instance '${instance.name}' is closed, or has a thread already`,
        { model: spec.model },
      );
    }
    this.#native = native;
    this.#memory = new InstanceMemory(native);
    this.#reader = new BatchReader(config, new Signals(native));
    this.#writer = new ResultWriter(native, this.#memory, spec.model, config);
    this.#ended = new Promise((resolve) => (this.#end = resolve));
  }

  /** Resolves when the instance is closed and its batches have ended. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** From now on it runs batches. */
  start(): void {
    this.#native.up();
    this.#drain();
  }

  /** Leaves the instance. What it has not answered fails. */
  detach(): void {
    this.#closed = true;
    this.#native.detach();
    this.#end();
  }

  readonly #wake = (): void => {
    this.#drain();
  };

  readonly #drainLater = (): void => {
    this.#scheduled = false;
    this.#drain();
  };

  #drain(): void {
    if (this.#draining || this.#scheduled || this.#closed) return;
    this.#draining = true;
    try {
      const end = performance.now() + mostMs;
      // An instance that has all the batches it may have gets none.
      while (this.#awaited < this.#spec.concurrency) {
        if (!this.#runNext()) return;
        if (performance.now() <= end) continue;
        this.#scheduled = true;
        setImmediate(this.#drainLater);
        return;
      }
    } finally {
      this.#draining = false;
    }
  }

  /** Runs the next batch. Returns false if there is none. */
  #runNext(): boolean {
    const objects = this.#objects;
    objects.length = 0;
    const words = this.#native.next(objects, this.#awaited === 0);
    if (words > 0) {
      this.#run(objects);
    } else if (words === instanceNeedsMemory) {
      const [needed = 0, bytes = 0] = this.#memory.words;
      this.#memory.grow(needed, bytes);
    } else if (words === instanceClosed) {
      this.#closed = true;
      this.#endIfDone();
      return false;
    }
    return words !== instanceAsleep || words === (instanceAgain as number);
  }

  #run(objects: readonly unknown[]): void {
    const batch = this.#read(objects);
    if (batch === undefined) return;
    let results: unknown;
    try {
      results = this.#model.execute(batch.requests);
    } catch (error) {
      this.#fail(batch, error);
      return;
    }
    if (!isThenable(results)) {
      this.#give(batch, results);
      return;
    }
    this.#awaited++;
    results.then(
      (settled: unknown) => {
        this.#give(batch, settled);
        this.#settled();
      },
      (error: unknown) => {
        this.#fail(batch, error);
        this.#settled();
      },
    );
  }

  #read(objects: readonly unknown[]): Batch | undefined {
    try {
      return this.#reader.read(this.#memory.words, this.#memory.bytes, objects);
    } catch (error) {
      // There was no memory for its inputs.
      const slot = this.#memory.words[0] ?? 0;
      this.#memory.words.set([2, -1, 5, ~0]);
      const message = error instanceof Error ? error.message : String(error);
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
    if (this.#closed && this.#awaited === 0) this.#end();
  }

  #give(batch: Batch, results: unknown): void {
    this.#writer.give(batch, results);
    this.#finish(batch);
  }

  #fail(batch: Batch, error: unknown): void {
    this.#writer.fail(batch, failureOf(this.#spec.model, error));
    this.#finish(batch);
  }

  #finish(batch: Batch): void {
    batch.ended = true;
    if (batch.buffers.length > 0) this.#native.detachBuffers(batch.buffers);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}
