/** The statistics of a version. */

import type { NativeBatch, NativeDuration, NativeStatistics } from '../../addon/native/statistics.js';
import type { EngineBatch } from './inbox.js';
import { now, type BatchTimes, type EngineRequest } from './request.js';

/** How many batches are remembered. */
const mostRecent = 64;

/** A count with a sum of nanoseconds. */
class Sum {
  count = 0;
  ns = 0;

  /** It as it is now. */
  get told(): NativeDuration {
    return { count: this.count, ns: this.ns };
  }

  add(ns: number, count = 1): void {
    this.count += count;
    this.ns += Math.round(ns * count);
  }
}

/** See the head of this file. */
export class Counts {
  readonly #success: Sum = new Sum();
  readonly #fail: Sum = new Sum();
  readonly #queue: Sum = new Sum();
  readonly #input: Sum = new Sum();
  readonly #infer: Sum = new Sum();
  readonly #output: Sum = new Sum();
  readonly #batches: Map<number, readonly [input: Sum, infer: Sum, output: Sum]> = new Map();
  readonly #recent: { readonly batch: EngineBatch; readonly ended: number }[] = [];
  #last = 0;
  #inferences = 0;
  #executions = 0;
  #cancelled = 0;
  #backendFailed = 0;
  #refused = 0;

  succeeded({ head, arrived }: EngineRequest, { begun, inputsReady, computed }: BatchTimes): void {
    this.#success.add(now() - arrived);
    this.#queue.add(begun - arrived);
    this.#input.add(inputsReady - begun);
    this.#infer.add(computed - inputsReady);
    this.#output.add(0);
    this.#inferences += Math.max(1, head.rows);
    this.#last = Date.now();
  }

  failed({ arrived, cancelled }: EngineRequest): void {
    this.#fail.add(now() - arrived);
    if (cancelled) this.#cancelled++;
    else this.#backendFailed++;
    this.#last = Date.now();
  }

  refused(): void {
    this.#refused++;
  }

  ran(batch: EngineBatch): void {
    const { rows, begun, inputsReady, computed } = batch.times;
    this.#executions++;
    this.#recent.push({ batch, ended: now() });
    if (this.#recent.length > mostRecent) this.#recent.shift();
    const size = Math.max(1, rows);
    const sums = this.#batches.get(size) ?? [new Sum(), new Sum(), new Sum()];
    this.#batches.set(size, sums);
    sums[0].add(inputsReady - begun);
    sums[1].add(computed - inputsReady);
    sums[2].add(0);
  }

  /** The last batches, the earliest first. */
  get recent(): NativeBatch[] {
    return this.#recent.map(({ batch: { requests, closedBy, left, times }, ended }) => ({
      rows: times.rows,
      requests: requests.length,
      left,
      instance: 0,
      closedBy,
      inline: false,
      ended: true,
      waitNs: Math.round(times.begun - Math.min(...requests.map(({ arrived }) => arrived))),
      runNs: Math.round(ended - times.begun),
      endedAgoNs: Math.round(now() - ended),
    }));
  }

  get all(): NativeStatistics {
    const nothing = new Sum();
    return {
      lastInferenceMs: this.#last,
      inferenceCount: this.#inferences,
      executionCount: this.#executions,
      cancelled: this.#cancelled,
      rejected: 0,
      backendFailed: this.#backendFailed,
      refused: this.#refused,
      reruns: 0,
      success: this.#success.told,
      fail: this.#fail.told,
      queue: this.#queue.told,
      computeInput: this.#input.told,
      computeInfer: this.#infer.told,
      computeOutput: this.#output.told,
      cacheHit: nothing.told,
      cacheMiss: nothing.told,
      batches: [...this.#batches]
        .sort(([one], [other]) => one - other)
        .map(([batchSize, [input, infer, output]]) => ({
          batchSize,
          computeInput: input.told,
          computeInfer: infer.told,
          computeOutput: output.told,
        })),
      responses: [],
      memory: [],
    };
  }
}
