/** A request that wants some of its outputs as classes. */

import type { StopSignal } from '../../call-signal.js';
import type { ToldStream, StreamWaiter } from '../../dispatch/responses/streams.js';
import type { Waiter } from '../../dispatch/types.js';
import { Queue } from '../../queue.js';
import { inSlices, type Sliced } from '../../slices.js';
import { unavailable } from '../../errors.js';
import { cancelled } from '../../dispatch/errors/request-errors.js';
import { elementCount } from '../../tensor/shape.js';
import type { ReadyVersion } from '../models/ready-version.js';
import type { InferResult } from '../../api/results.js';
import type { WantedOutputs } from './wanted-outputs.js';

/** The most elements of results whose classes are being found, all together: they count as in flight no more. One alone may have any. */
const mostElements = 8 << 20;
let underWay = 0;

/** The elements of what is classified. */
function elementsOf(result: InferResult, wanted: WantedOutputs): number {
  return wanted.classes.reduce((sum, { name }) => sum + elementCount(result.outputs[name]?.shape ?? [0]), 0);
}

/** Goes on with work until its request is cancelled, or its time is over. */
function* untilAborted<T>(work: Sliced<T>, model: string, signal: StopSignal | undefined): Sliced<T> {
  for (;;) {
    if (signal?.aborted === true) throw cancelled(model, signal);
    const next = work.next();
    if (next.done === true) return next.value;
    yield;
  }
}

/**
 * Finds the classes of a result.
 *
 * @param failed - Gets INVALID_ARG for what has no classes, what the signal says, and UNAVAILABLE where too many results wait for
 *   theirs.
 */
function classifyResult(
  version: ReadyVersion,
  wanted: WantedOutputs,
  signal: StopSignal | undefined,
  result: InferResult,
  done: (classified: InferResult) => void,
  failed: (error: unknown) => void,
): void {
  const { name } = result.model;
  const elements = elementsOf(result, wanted);
  if (underWay > 0 && underWay + elements > mostElements) {
    const text = `model '${name}': results that are being classified have ${underWay} elements; the limit is ${mostElements}`;
    failed(unavailable('TOO_MUCH_IN_FLIGHT', text, { model: name }));
    return;
  }
  underWay += elements;
  inSlices(
    untilAborted(version.classified(result, wanted.classes), name, signal),
    (classified) => {
      underWay -= elements;
      done(classified);
    },
    (error) => {
      underWay -= elements;
      failed(error);
    },
  );
}

/** Turns outputs into classes before it resolves the request's waiter. */
export class ClassifyingWaiter implements Waiter<InferResult> {
  readonly #version: ReadyVersion;
  readonly #wanted: WantedOutputs;
  readonly #waiter: Waiter<InferResult>;
  readonly #signal: StopSignal | undefined;

  constructor(
    version: ReadyVersion,
    wanted: WantedOutputs,
    waiter: Waiter<InferResult>,
    signal: StopSignal | undefined,
  ) {
    this.#version = version;
    this.#wanted = wanted;
    this.#waiter = waiter;
    this.#signal = signal;
  }

  resolve(result: InferResult): void {
    const waiter = this.#waiter;
    classifyResult(
      this.#version,
      this.#wanted,
      this.#signal,
      result,
      (classified) => {
        waiter.resolve(classified);
      },
      (error) => {
        waiter.reject(error);
      },
    );
  }

  reject(error: unknown): void {
    this.#waiter.reject(error);
  }
}

/** The same for a request with any number of responses, which keep their order. */
export class ClassifyingStream implements StreamWaiter<InferResult> {
  readonly #version: ReadyVersion;
  readonly #wanted: WantedOutputs;
  readonly #waiter: StreamWaiter<InferResult>;
  readonly #signal: StopSignal | undefined;
  /** Whether a response is being classified. */
  #busy = false;
  /** What came meanwhile. */
  readonly #later: Queue<() => void> = new Queue();

  constructor(
    version: ReadyVersion,
    wanted: WantedOutputs,
    waiter: StreamWaiter<InferResult>,
    signal: StopSignal | undefined,
  ) {
    this.#version = version;
    this.#wanted = wanted;
    this.#waiter = waiter;
    this.#signal = signal;
  }

  begin(): void {
    this.#waiter.begin();
  }

  push(result: InferResult, bytes: number): void {
    // Until its classes are found, the request may end, and its place be another's.
    this.#waiter.begin();
    this.#classify(result, (classified) => {
      this.#waiter.push(classified, bytes);
    });
  }

  end(): void {
    this.#inTurn(() => {
      this.#waiter.end();
    });
  }

  moved(stream: ToldStream): void {
    this.#waiter.moved(stream);
  }

  resolve(result: InferResult): void {
    this.#classify(result, (classified) => {
      this.#waiter.resolve(classified);
    });
  }

  reject(error: unknown): void {
    this.#inTurn(() => {
      this.#waiter.reject(error);
    });
  }

  #classify(result: InferResult, take: (classified: InferResult) => void): void {
    this.#inTurn(() => {
      this.#busy = true;
      classifyResult(
        this.#version,
        this.#wanted,
        this.#signal,
        result,
        (classified) => {
          take(classified);
          this.#goOn();
        },
        (error) => {
          this.#waiter.reject(error);
          this.#goOn();
        },
      );
    });
  }

  #inTurn(act: () => void): void {
    if (this.#busy) this.#later.push(act);
    else act();
  }

  #goOn(): void {
    this.#busy = false;
    for (let act = this.#next(); act !== undefined; act = this.#next()) act();
  }

  /** What is to be done now; undefined: nothing, or a response is being classified. */
  #next(): (() => void) | undefined {
    return this.#busy ? undefined : this.#later.shift();
  }
}
