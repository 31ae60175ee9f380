/**
 * onnxruntime-node with batches made by hand in JavaScript, as a careful user writes it without tritonts.
 * Requests of a tick are collected, concatenated and run together, and the answer is split. The runs still
 * occupy the main thread.
 */
import { onnxRuntime, type OrtData, type OrtSession } from '../../test/support/onnx/run.js';
import type { Histogram } from '../reports/histogram.js';
import type { Caller } from './contestant.js';
import type { Tensors } from './direct.js';

/** The part of a typed array's interface that a batch needs. */
type Row<T> = OrtData & {
  readonly length: number;
  set(source: T, at: number): void;
  subarray(begin: number, end: number): OrtData;
};

interface Waiting<T> {
  readonly item: T;
  readonly resolve: (answer: Float32Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs items in batches. Each answer is an array of its own, as with tritonts. */
export class HandBatcher<T extends Row<T>> {
  readonly #session: OrtSession;
  readonly #tensors: Tensors;
  readonly #maxBatchSize: number;
  readonly #allocate: (length: number) => T;
  /** Memory of batches that have run, for reuse. */
  readonly #spare: T[] = [];
  readonly #sizes = new Map<number, number>();
  #waiting: Waiting<T>[] = [];

  /** @param allocate - Makes the array that holds a batch. */
  constructor(session: OrtSession, tensors: Tensors, maxBatchSize: number, allocate: (length: number) => T) {
    this.#session = session;
    this.#tensors = tensors;
    this.#maxBatchSize = maxBatchSize;
    this.#allocate = allocate;
  }

  /** How many batches of each size have run. */
  get batches(): Histogram {
    return new Map(this.#sizes);
  }

  /** Resolves with the output for an item. The item must not change until then. */
  infer(item: T): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      // nextTick runs after the promise jobs of this turn, in which other callers make requests.
      if (this.#waiting.length === 0) process.nextTick(flush, this);
      this.#waiting.push({ item, resolve, reject });
    });
  }

  /** Starts runs for all waiting items. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let begin = 0; begin < waiting.length; begin += this.#maxBatchSize) {
      void this.#run(waiting.slice(begin, begin + this.#maxBatchSize));
    }
  }

  async #run(batch: readonly Waiting<T>[]): Promise<void> {
    const { input, output, type, itemDims } = this.#tensors;
    const itemLength = batch[0]?.item.length ?? 0;
    const buffer = this.#spare.pop() ?? this.#allocate(this.#maxBatchSize * itemLength);
    try {
      for (let i = 0, at = 0; i < batch.length; i++, at += itemLength) {
        const request = batch[i];
        if (request) buffer.set(request.item, at);
      }
      const { Tensor } = onnxRuntime();
      const rows = new Tensor(type, buffer.subarray(0, batch.length * itemLength), [
        batch.length,
        ...itemDims,
      ]);
      const answer = (await this.#session.run({ [input]: rows }))[output];
      if (!(answer?.data instanceof Float32Array)) throw new TypeError(`output ${output} is not FP32`);
      this.#sizes.set(batch.length, (this.#sizes.get(batch.length) ?? 0) + 1);
      const width = answer.data.length / batch.length;
      for (let i = 0, at = 0; i < batch.length; i++, at += width) {
        batch[i]?.resolve(answer.data.slice(at, at + width));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#spare.push(buffer);
    }
  }
}

function flush(batcher: { flush(): void }): void {
  batcher.flush();
}

/** Makes a contestant that asks a session in batches. Its creator closes the session. */
export function openByHand<T extends Row<T>>(
  session: OrtSession,
  tensors: Tensors,
  items: readonly T[],
  maxBatchSize: number,
  allocate: (length: number) => T,
): Caller {
  const batcher = new HandBatcher<T>(session, tensors, maxBatchSize, allocate);
  const first = items[0];
  if (first === undefined) throw new RangeError('a benchmark needs items');
  return {
    kind: 'caller',
    name: 'batched by hand',
    infer: (index) => batcher.infer(items[index % items.length] ?? first),
    // infer() returned it.
    read: (answer) => answer as Float32Array,
    batches: () => batcher.batches,
    close: () => Promise.resolve(),
  };
}
