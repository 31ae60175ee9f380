/**
 * Makes spans of finished traces. The names, parents and attributes are Triton's:
 *
 * - `InferRequest`: a request of a client, with the time stamps of its way through the endpoint
 * - a span named like the model, inside of it, and inside the span of an ensemble or of a model that called it
 * - `compute`: inside of the model's, while the backend ran
 * - `X`: inside of the span that is open, from a model's own time stamp `X_START` to `X_END`
 */

import type { Context, HrTime, Span, SpanContext, TimeInput, Tracer } from '@opentelemetry/api';
import type { OpenTelemetry } from '../../open-telemetry.js';
import type { FinishedTrace } from './finished-trace.js';

const computeStart = 'COMPUTE_START';
const computeEnd = 'COMPUTE_END';
const ofCompute: ReadonlySet<string> = new Set([
  computeStart,
  'COMPUTE_INPUT_END',
  'COMPUTE_OUTPUT_START',
  computeEnd,
]);
const ofModel: ReadonlySet<string> = new Set(['REQUEST_START', 'QUEUE_START', 'REQUEST_END']);
/** Time stamps of endpoints. */
const ofEndpoint: RegExp =
  /^(?:HTTP_(?:RECV|SEND)_(?:START|END)|GRPC_(?:WAITREAD|SEND)_(?:START|END)|INFER_RESPONSE_COMPLETE)$/;

/** A time stamp. */
interface Stamp {
  readonly name: string;
  /** Unix time. */
  readonly ns: bigint;
}

const billion = 1_000_000_000n;

function timeOf(ns: bigint): HrTime {
  return [Number(ns / billion), Number(ns % billion)];
}

/** The most traces that wait for the trace of their caller, which ends after them. */
const mostWaiting = 65_536;

/** See the head of this file. */
export class SpanMaker {
  readonly #api: OpenTelemetry;
  readonly #tracer: Tracer;
  /** Traces of ensembles' steps and of calls, by the id of the caller's trace. */
  readonly #waiting: Map<number, FinishedTrace[]> = new Map();
  #waitingCount = 0;

  constructor(api: OpenTelemetry, tracer: Tracer) {
    this.#api = api;
    this.#tracer = tracer;
  }

  /** Takes finished traces. A child comes before its parent. */
  take(traces: readonly FinishedTrace[]): void {
    for (const trace of traces) {
      if (trace.parent_id === 0) this.#makeRequest(trace);
      else this.#keep(trace);
    }
  }

  #keep(trace: FinishedTrace): void {
    if (this.#waitingCount >= mostWaiting) {
      // The callers of the oldest ones are gone, or the program has stopped.
      this.#waiting.clear();
      this.#waitingCount = 0;
    }
    const known = this.#waiting.get(trace.parent_id);
    if (known === undefined) this.#waiting.set(trace.parent_id, [trace]);
    else known.push(trace);
    this.#waitingCount++;
  }

  #makeRequest(trace: FinishedTrace): void {
    const stamps = stampsOf(trace);
    const [first] = stamps;
    const last = stamps.at(-1);
    if (first === undefined || last === undefined) {
      this.#childrenOf(trace);
      return;
    }
    const span = this.#start('InferRequest', first.ns, this.#contextOf(trace.context), {});
    for (const { name, ns } of stamps) if (ofEndpoint.test(name)) span.addEvent(name, timeOf(ns));
    this.#fail(span, trace);
    this.#makeModel(
      trace,
      stamps.filter(({ name }) => !ofEndpoint.test(name)),
      this.#inside(span),
    );
    span.end(timeOf(last.ns));
  }

  #makeModel(trace: FinishedTrace, stamps: readonly Stamp[], parent: Context): void {
    const children = this.#childrenOf(trace);
    const [first] = stamps;
    const last = stamps.at(-1);
    // A request that was refused before it was queued has no model's span.
    if (first === undefined || last === undefined) return;
    const span = this.#start(trace.model_name, first.ns, parent, {
      'triton.model_name': trace.model_name,
      'triton.model_version': trace.model_version,
      'triton.trace_id': trace.id,
      'triton.trace_parent_id': trace.parent_id,
      ...(trace.request_id === '' ? {} : { 'triton.request_id': trace.request_id }),
    });
    const inside = this.#inside(span);
    for (const { name, ns } of stamps) if (ofModel.has(name)) span.addEvent(name, timeOf(ns));
    this.#makeInner(stamps, span, inside, last.ns);
    for (const child of children) this.#makeModel(child, stampsOf(child), inside);
    this.#fail(span, trace);
    span.end(timeOf(last.ns));
  }

  /** Makes the spans inside of a model's: `compute`, and those of the model's own time stamps. */
  #makeInner(stamps: readonly Stamp[], model: Span, inside: Context, end: bigint): void {
    const open: { readonly name: string; readonly span: Span; readonly inside: Context }[] = [];
    const begin = (name: string, ns: bigint): Span => {
      const span = this.#start(name, ns, open.at(-1)?.inside ?? inside, {});
      open.push({ name, span, inside: this.#inside(span) });
      return span;
    };
    const close = (name: string, ns: bigint): boolean => {
      const at = open.findLastIndex((one) => one.name === name);
      if (at < 0) return false;
      // What was opened inside of it, and not closed, ends with it.
      for (const { span } of open.splice(at).reverse()) span.end(timeOf(ns));
      return true;
    };
    for (const { name, ns } of stamps) {
      if (ofModel.has(name)) continue;
      const present = open.at(-1)?.span ?? model;
      if (name === computeStart) begin('compute', ns).addEvent(name, timeOf(ns));
      else if (ofCompute.has(name)) {
        const compute = open.find((one) => one.name === 'compute')?.span ?? model;
        compute.addEvent(name, timeOf(ns));
        if (name === computeEnd) close('compute', ns);
      } else if (name.endsWith('_START') && name.length > '_START'.length) {
        begin(name.slice(0, -'_START'.length), ns).addEvent(name, timeOf(ns));
      } else if (name.endsWith('_END') && open.some((one) => one.name === name.slice(0, -'_END'.length))) {
        const own = name.slice(0, -'_END'.length);
        open.findLast((one) => one.name === own)?.span.addEvent(name, timeOf(ns));
        close(own, ns);
      } else present.addEvent(name, timeOf(ns));
    }
    for (const { span } of open.reverse()) span.end(timeOf(end));
  }

  #childrenOf({ id }: FinishedTrace): readonly FinishedTrace[] {
    const children = this.#waiting.get(id) ?? [];
    this.#waiting.delete(id);
    this.#waitingCount -= children.length;
    return children;
  }

  #start(name: string, ns: bigint, parent: Context, attributes: Record<string, string | number>): Span {
    const startTime: TimeInput = timeOf(ns);
    return this.#tracer.startSpan(name, { kind: this.#api.SpanKind.SERVER, startTime, attributes }, parent);
  }

  #inside(span: Span): Context {
    return this.#api.trace.setSpan(this.#api.ROOT_CONTEXT, span);
  }

  #fail(span: Span, { error }: FinishedTrace): void {
    if (error !== undefined) span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: error });
  }

  /** @param text - As `NativeTracing.sampleTrace` takes it. */
  #contextOf(text: string): Context {
    const [traceparent = '', tracestate] = text.split('\n');
    const [, traceId, spanId, flags] = traceparent.split('-');
    const { ROOT_CONTEXT, trace, createTraceState } = this.#api;
    if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
    const parent: SpanContext = {
      traceId,
      spanId,
      traceFlags: parseInt(flags, 16),
      isRemote: true,
      ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
    };
    return trace.setSpanContext(ROOT_CONTEXT, parent);
  }
}

/** The time stamps in the order of their time. Those of one time stay as they were added. */
function stampsOf({ timestamps, offset_ns: offset }: FinishedTrace): Stamp[] {
  const difference = BigInt(offset);
  return timestamps
    .map(({ name, ns }) => ({ name, ns: BigInt(ns) + difference }))
    .sort((a, b) => (a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : 0));
}
