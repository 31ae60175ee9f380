/** Where spans go: to the tracer provider that the program has registered, or to an exporter of the server's own. */

import type { Tracer } from '@opentelemetry/api';
import { createRequire } from 'node:module';
import type * as Otlp from '@opentelemetry/exporter-trace-otlp-http';
import type * as Resources from '@opentelemetry/resources';
import type * as Sdk from '@opentelemetry/sdk-trace-base';
import { unavailable } from '../../errors.js';
import type { Log } from '../../logger.js';
import { loadOpenTelemetry, type OpenTelemetry } from '../../open-telemetry.js';
import { thrownText } from '../../thrown-text.js';
import { endsWithin } from '../../time-limit.js';
import type { ResolvedOpenTelemetry, ResolvedTrace } from '../../trace-config.js';
import { packageVersion } from '../../version.js';

/** See the head of this file. */
export interface SpanSink {
  readonly api: OpenTelemetry;
  readonly tracer: Tracer;
  readonly log: Log;
  /** Sends what waits, for a limited time. */
  close(): Promise<void>;
}

/** Triton's name. */
const tracerName = 'triton-server';

/** How long the last spans may take to be sent, in milliseconds. */
const lastSpansMs = 2000;

const exporterPackages = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace-base',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
] as const;

/** @throws {@link TritonError} UNAVAILABLE if one of the packages is not installed. */
function loaded<T>(load: () => T, packages: readonly string[]): T {
  try {
    return load();
  } catch (cause) {
    const what = packages.length === 1 ? 'the package' : 'the packages';
    throw unavailable(
      'MISSING',
      `options.traceConfig: mode 'opentelemetry' needs ${what} ${packages.join(', ')}: npm install ${packages.join(' ')} (${thrownText(cause)})`,
      { cause },
    );
  }
}

/**
 * Opens the sink of a server whose traces are spans; undefined: they are not.
 *
 * @throws {@link TritonError} UNAVAILABLE if a package is not installed.
 */
export function openSpanSink({ mode, start, openTelemetry }: ResolvedTrace, log: Log): SpanSink | undefined {
  if (mode !== 'opentelemetry') return undefined;
  if (start.level.tensors)
    log.warn("options.traceConfig.level: 'TENSORS' has no effect in mode 'opentelemetry'", {});
  if (openTelemetry !== undefined) return ownSink(openTelemetry, log);
  const api = loaded(loadOpenTelemetry, ['@opentelemetry/api']);
  // The provider may be registered later.
  const tracer = api.trace.getTracer(tracerName, packageVersion);
  return { api, tracer, log, close: () => Promise.resolve() };
}

function ownSink(options: ResolvedOpenTelemetry, log: Log): SpanSink {
  const [api, sdk, otlp, resources] = loaded(() => {
    // Packages that may be absent are hidden from bundlers.
    const load = createRequire(import.meta.url);
    return [
      loadOpenTelemetry(),
      load('@opentelemetry/sdk-trace-base') as typeof Sdk,
      load('@opentelemetry/exporter-trace-otlp-http') as typeof Otlp,
      load('@opentelemetry/resources') as typeof Resources,
    ] as const;
  }, exporterPackages);
  const { url, resource, maxQueueSize, scheduleDelayMs, maxExportBatchSize } = options;
  const exporter = new LoggedExporter(new otlp.OTLPTraceExporter({ url }), url, log);
  const processor = new sdk.BatchSpanProcessor(exporter, {
    maxQueueSize,
    maxExportBatchSize,
    scheduledDelayMillis: scheduleDelayMs,
  });
  const provider = new sdk.BasicTracerProvider({
    resource: resources.defaultResource().merge(resources.resourceFromAttributes(resource)),
    // The engine chooses the requests. A caller's trace is continued even if nobody records it there, as in Triton.
    sampler: new sdk.AlwaysOnSampler(),
    spanProcessors: [processor],
  });
  return {
    api,
    tracer: provider.getTracer(tracerName, packageVersion),
    log,
    close: async () => {
      // An error was logged.
      await endsWithin(
        provider.shutdown().catch(() => undefined),
        lastSpansMs,
      );
    },
  };
}

/** Logs when spans can no longer be sent, and when they can again. */
class LoggedExporter implements Sdk.SpanExporter {
  readonly #exporter: Sdk.SpanExporter;
  readonly #url: string;
  readonly #log: Log;
  #failed = false;

  constructor(exporter: Sdk.SpanExporter, url: string, log: Log) {
    this.#exporter = exporter;
    this.#url = url;
    this.#log = log;
  }

  export(...[spans, done]: Parameters<Sdk.SpanExporter['export']>): void {
    this.#exporter.export(spans, (result) => {
      const code: number = result.code;
      const failed = code !== 0;
      if (failed && !this.#failed)
        this.#log.warn(
          `traces cannot be sent to ${this.#url}: ${result.error?.message ?? 'no reason was given'}`,
          {},
        );
      if (!failed && this.#failed) this.#log.info(`traces are sent to ${this.#url} again`, {});
      this.#failed = failed;
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }
}
