/** The time stamps that an endpoint adds to the trace of a request. */

import type { IncomingHttpHeaders } from 'node:http';
import { TritonError } from '../../errors.js';
import type { ModelHandle } from '../../server/models/model-handle.js';
import type { RequestTrace } from '../../server/trace/request-trace.js';

/**
 * See the head of this file. Whether the request is traced is known only when it is sent, so earlier stamps wait. It
 * must be ended, whatever becomes of the request.
 */
export class FrontTrace {
  readonly #context: string;
  /** The stamps that wait; undefined once it is known whether the request is traced. */
  #waiting: [name: string, ns: number][] | undefined = [];
  #trace: RequestTrace | undefined;
  #ended = false;

  /** @param context - The parent, as `NativeTracing.sampleTrace` takes it. */
  constructor(context: string) {
    this.#context = context;
  }

  /** Adds a stamp. */
  note(name: string, ns: number = now()): void {
    if (this.#waiting !== undefined) this.#waiting.push([name, ns]);
    else this.#trace?.note(name, ns);
  }

  /** Adds the stamp of a response, or of an error. Requests that were cancelled have none. */
  completed(error?: unknown): void {
    if (!(error instanceof TritonError && error.code === 'CANCELLED')) this.note('INFER_RESPONSE_COMPLETE');
  }

  /** Asks whether the request is traced, which is about to be sent. Returns the id of its trace, or 0. */
  begin(handle: ModelHandle, requestId: string): number {
    if (this.#ended || this.#waiting === undefined) return this.#trace?.id ?? 0;
    const trace = handle.startTrace(this.#context, requestId);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#trace = trace;
    for (const [name, ns] of waiting) trace?.note(name, ns);
    return trace?.id ?? 0;
  }

  /** Ends the trace. Idempotent. */
  end(): void {
    this.#ended = true;
    this.#trace?.end();
  }
}

/** The time of the clock of stamps, in nanoseconds. */
export function now(): number {
  return Number(process.hrtime.bigint());
}

/** The headers that name the parent of a request, as W3C defines them. Others are ignored. */
export function contextOf({ traceparent, tracestate }: IncomingHttpHeaders): string {
  if (typeof traceparent !== 'string' || !parentForm.test(traceparent)) return '';
  const state = typeof tracestate === 'string' ? tracestate : tracestate?.join(',');
  return state === undefined || state === '' || state.length > mostState
    ? traceparent
    : `${traceparent}\n${state}`;
}

const parentForm = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** The most characters of a `tracestate`; a longer one is left out. */
const mostState = 4096;
