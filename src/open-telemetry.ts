/**
 * The span that is active in the program, if it uses OpenTelemetry. `@opentelemetry/api` is loaded only once a program
 * has set it up, and so does not have to be installed. Bundlers do not see it for the same reason.
 */

import { createRequire } from 'node:module';
import type * as OpenTelemetryApi from '@opentelemetry/api';

/** The package `@opentelemetry/api`. */
export type OpenTelemetry = typeof OpenTelemetryApi;

/** Where every copy of `@opentelemetry/api` of version 1 keeps what the program has registered. */
const registered = Symbol.for('opentelemetry.js.api.1');

let api: OpenTelemetry | undefined;
let failed = false;

/**
 * Loads `@opentelemetry/api`, so that {@link activeSpan} finds spans from then on.
 *
 * @throws An error of the module loader if the package is not installed.
 */
export function loadOpenTelemetry(): OpenTelemetry {
  // All copies share what is registered, so it does not matter that this may be another one than the program's.
  api ??= createRequire(import.meta.url)('@opentelemetry/api') as OpenTelemetry;
  return api;
}

/** The package, if the program has set it up. */
function found(): OpenTelemetry | undefined {
  if (api !== undefined || failed || !(registered in globalThis)) return api;
  try {
    return loadOpenTelemetry();
  } catch {
    // Without the package there are no spans. It is not looked for again, as that reads folders.
    failed = true;
    return undefined;
  }
}

/** A span's place in its trace, as W3C writes it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  readonly sampled: boolean;
}

/** The span that is active here; undefined if there is none. */
export function activeSpan(): TraceContext | undefined {
  const telemetry = found();
  const context = telemetry?.trace.getActiveSpan()?.spanContext();
  if (telemetry === undefined || context === undefined || !telemetry.isSpanContextValid(context))
    return undefined;
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, '0');
  const state = context.traceState?.serialize();
  return {
    traceparent: `00-${context.traceId}-${context.spanId}-${flags}`,
    tracestate: state === '' ? undefined : state,
    sampled: (context.traceFlags & 1) === 1,
  };
}

/** The headers that name the active span as the parent of a request; empty without one. */
export function spanHeaders(): Readonly<Record<string, string>> {
  const span = activeSpan();
  if (span === undefined) return none;
  const { traceparent, tracestate } = span;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

const none: Readonly<Record<string, string>> = Object.freeze({});
