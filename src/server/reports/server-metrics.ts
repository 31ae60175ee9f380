/** The metrics of a server as one environment sees them: those of its models, the machine's, and the application's own. */

import type { NativeServer } from '../../addon/native/server.js';
import { functionsOf } from '../../addon/engine-functions.js';
import type { Metric, MetricOptions } from '../../api/metric.js';
import { CustomMetrics } from '../../metrics/custom.js';
import { gpusInUse } from '../../metrics/gpu-families.js';
import { Machine } from '../../metrics/machine.js';
import type { ResolvedMetrics } from '../../metrics/metrics-config.js';
import type { LazyNumbers } from '../../metrics/lazy-families.js';
import { metricsText } from '../../metrics/metrics-text.js';
import type { VersionSample } from '../../metrics/model-families.js';
import { Scrapes } from '../../metrics/scrapes.js';
import { loadTimesOf } from '../../metrics/load-times.js';
import { isCached } from '../../cache-config.js';
import { atOnce, type Sliced } from '../../slices.js';
import type { ModelTable } from '../models/model-table.js';

/** The application's own, for endpoints that look for some of them: the text of all models' takes long. */
const customOfServers = new WeakMap<object, CustomMetrics>();

/** The metrics of a server's application; undefined for an object that is no server. */
export function customMetricsOf(server: object): CustomMetrics | undefined {
  return customOfServers.get(server);
}

/** See the head of this file. */
export class ServerMetrics {
  readonly #native: NativeServer;
  readonly #table: ModelTable;
  readonly #config: ResolvedMetrics;
  readonly #devices: () => readonly string[];
  readonly #lazy: () => LazyNumbers | undefined;
  readonly #machine: Machine;
  readonly #custom: CustomMetrics = new CustomMetrics();
  readonly #scrapes: Scrapes = new Scrapes(() => this.#text());

  /** @param server - Whose metrics they are, for {@link customMetricsOf}. */
  constructor(
    server: object,
    native: NativeServer,
    table: ModelTable,
    config: ResolvedMetrics,
    devices: () => readonly string[],
    lazy: () => LazyNumbers | undefined,
  ) {
    this.#lazy = lazy;
    this.#native = native;
    this.#table = table;
    this.#config = config;
    this.#devices = devices;
    this.#machine = new Machine(config.intervalMs);
    customOfServers.set(server, this.#custom);
  }

  /** The text. @throws {@link TritonError} UNAVAILABLE for a closed server. */
  text(): string {
    return atOnce(this.#text());
  }

  /** The text, made in slices of the event loop. Rejects as {@link text} throws. */
  scrape(): Promise<string> {
    return this.#scrapes.next();
  }

  /** One of the application's own. @throws {@link TritonError} As {@link CustomMetrics.metric}. */
  metric(options: MetricOptions): Metric {
    return this.#custom.metric(options);
  }

  #text(): Sliced<string> {
    this.#table.checkOpen();
    return metricsText({
      config: this.#config,
      boundsNs: functionsOf(this.#native).latencyBoundsNs(),
      versions: this.#samples(),
      machine: this.#machine,
      gpus: this.#config.gpus ? gpusInUse(this.#devices()) : [],
      inFlightBytes: this.#native.inFlightBytes(),
      resources: this.#native.resources(),
      cache: this.#native.cache(),
      loads: loadTimesOf(this.#native),
      lazy: this.#lazy(),
      custom: this.#custom,
      plugins: functionsOf(this.#native).pluginMetrics(),
    });
  }

  *#samples(): Generator<VersionSample> {
    const hasCache = this.#native.cache() !== undefined;
    for (const key of this.#table.keys()) {
      // A server that closes between two slices has no models any more.
      this.#table.checkOpen();
      for (const { uid, version, config, loadSeconds } of [
        ...(this.#table.entry(key)?.ready ?? []),
      ].reverse()) {
        const metrics = this.#native.metrics(uid, this.#config.quantiles);
        if (metrics)
          yield { key, version, config, loadSeconds, metrics, cached: hasCache && isCached(config) };
      }
    }
  }
}
