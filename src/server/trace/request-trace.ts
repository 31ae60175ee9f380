/** The trace of one request, as those write to it who sent the request. */

import type { NativeTracing } from '../../addon/native/trace.js';
import { activeSpan } from '../../open-telemetry.js';
import type { ToldStream, StreamWaiter } from '../../dispatch/responses/streams.js';
import type { Waiter } from '../../dispatch/types.js';
import type { InferResult } from '../../api/results.js';

/** See the head of this file. It must be ended, whatever becomes of the request. */
export class RequestTrace {
  readonly id: number;
  readonly #native: NativeTracing;
  #ended = false;

  constructor(native: NativeTracing, id: number) {
    this.#native = native;
    this.id = id;
  }

  /** @param ns - Of the clock of `process.hrtime`; 0: now. */
  note(name: string, ns = 0): void {
    if (this.#ended) return;
    try {
      this.#native.noteTrace(this.id, name, ns);
    } catch {
      // There is no memory for the stamp. The request must get its answer.
    }
  }

  /** Idempotent. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#native.endTrace(this.id);
  }
}

/**
 * The parent of a request that the program makes, as the engine takes it: empty without a parent. Undefined if the
 * active span is not recorded, so that nothing below it is traced.
 */
export function parentContext(): string | undefined {
  const span = activeSpan();
  if (span === undefined) return '';
  if (!span.sampled) return undefined;
  return span.tracestate === undefined ? span.traceparent : `${span.traceparent}\n${span.tracestate}`;
}

/** Ends the trace of a request when its answer is there. */
export class TracedWaiter<
  W extends Waiter<InferResult> = Waiter<InferResult>,
> implements Waiter<InferResult> {
  protected readonly trace: RequestTrace;
  protected readonly waiter: W;

  constructor(trace: RequestTrace, waiter: W) {
    this.trace = trace;
    this.waiter = waiter;
  }

  resolve(result: InferResult): void {
    this.trace.end();
    this.waiter.resolve(result);
  }

  reject(error: unknown): void {
    this.trace.end();
    this.waiter.reject(error);
  }
}

/** The same for a request with any number of responses. */
export class TracedStream
  extends TracedWaiter<StreamWaiter<InferResult>>
  implements StreamWaiter<InferResult>
{
  begin(): void {
    this.waiter.begin();
  }

  push(result: InferResult, bytes: number): void {
    this.waiter.push(result, bytes);
  }

  end(): void {
    this.trace.end();
    this.waiter.end();
  }

  moved(stream: ToldStream): void {
    this.waiter.moved(stream);
  }
}
