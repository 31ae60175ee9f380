/**
 * The span that is active in the program, if it uses OpenTelemetry. `@opentelemetry/api` is imported only once a
 * program has set it up, and so does not have to be installed.
 */

import type * as OpenTelemetryApi from '@opentelemetry/api';
import { lazy } from './lazy.js';

/** The package `@opentelemetry/api`. */
export type OpenTelemetry = typeof OpenTelemetryApi;

const load = lazy(() => import('@opentelemetry/api'));

/** Where every copy of `@opentelemetry/api` of version 1 keeps what the program has registered. */
const registered = Symbol.for('opentelemetry.js.api.1');

let api: OpenTelemetry | undefined;
let failed = false;

/**
 * Imports `@opentelemetry/api`, so that {@link activeSpan} finds spans from then on.
 *
 * @throws An error of the module loader if the package is not installed.
 */
export async function loadOpenTelemetry(): Promise<OpenTelemetry> {
  api = await load();
  return api;
}

/** Imports the package if the program has set it up. A failure means that there are no spans. */
export async function findOpenTelemetry(): Promise<void> {
  if (api !== undefined || failed || !(registered in globalThis)) return;
  try {
    await loadOpenTelemetry();
  } catch {
    failed = true;
  }
}

/** A span's place in its trace, as W3C writes it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  readonly sampled: boolean;
}

/** The span that is active here; undefined if there is none, or the package is not imported yet. */
export function activeSpan(): TraceContext | undefined {
  if (api === undefined) {
    // The next calls find it.
    void findOpenTelemetry();
    return undefined;
  }
  const span = api.trace.getActiveSpan();
  if (span === undefined) return undefined;
  const context = span.spanContext();
  if (!api.isSpanContextValid(context)) return undefined;
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, '0');
  const state = context.traceState?.serialize();
  return {
    traceparent: `00-${context.traceId}-${context.spanId}-${flags}`,
    tracestate: state === '' ? undefined : state,
    sampled: (context.traceFlags & 1) === 1,
  };
}
