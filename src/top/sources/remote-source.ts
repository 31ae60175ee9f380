/** Reads a server over HTTP or gRPC, as any client could, and its metrics from their own port. */

import type { ModelStatus } from '../../api/metadata.js';
import { connectServer } from '../../client/index.js';
import type { RemoteServer } from '../../client/types.js';
import { instancesOf } from '../../metrics/instances.js';
import { thrownText } from '../../thrown-text.js';
import { versionKey, type Reading, type TopSource, type VersionStatistics } from '../reading.js';
import { fetchedText, mostBytes } from './fetched-text.js';
import { wholeIndex, wholeStatistics } from './whole-entries.js';

/** What is needed to read a server. */
export interface RemotePlace {
  /** `http:`, `https:`, `grpc:` or `grpcs:`. */
  readonly url: string;
  /** Undefined: port 8002 of the same host. */
  readonly metricsUrl: string | undefined;
  /** Headers of each request to `url`. They are not sent to the port of metrics. */
  readonly headers: Readonly<Record<string, string>>;
  /** How long a call may take. */
  readonly timeoutMs: number;
}

/** How many configurations are asked for in one reading, so that a server with many models is not kept busy. */
const mostConfigs = 32;

/** Metrics may take so long; a port behind a firewall does not answer at all. */
const metricsMs = 2000;

/** The address of a server's metrics, if no other one is given: that of Triton's defaults. */
export function metricsUrlOf(url: string): URL {
  const { hostname } = new URL(url);
  return new URL(`http://${hostname}:8002/metrics`);
}

/** See the head of this file. */
export class RemoteSource implements TopSource {
  readonly place: string;
  readonly #options: RemotePlace;
  readonly #metricsUrl: URL;
  readonly #instances: Map<string, number | undefined> = new Map();
  /** Executions of each version when its configuration was read: they fall when it is loaded again. */
  readonly #executions: Map<string, number> = new Map();
  #server: RemoteServer | undefined;

  constructor(options: RemotePlace) {
    this.#options = options;
    const { protocol, host, pathname } = new URL(options.url);
    // Without a user name and password.
    this.place = `${protocol}//${host}${pathname.replace(/\/$/, '')}`;
    this.#metricsUrl =
      options.metricsUrl === undefined ? metricsUrlOf(options.url) : new URL(options.metricsUrl);
  }

  async read(signal: AbortSignal): Promise<Reading> {
    try {
      return await this.#read(signal);
    } catch (error) {
      // The next reading connects anew: a connection to a server that is gone may take its time to notice.
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await server?.close({ timeoutMs: 0 });
  }

  async #read(signal: AbortSignal): Promise<Reading> {
    const { url, headers, timeoutMs } = this.#options;
    const server = (this.#server ??= await connectServer(url, {
      headers,
      timeoutMs,
      retries: 0,
      maxResponseBytes: mostBytes,
      signal,
    }));
    const asked = performance.now();
    const [all, entries, ready, metadata, metrics] = await Promise.all([
      server.statistics(),
      server.index().catch((): undefined => undefined),
      server.ready,
      server.metadata(),
      this.#metrics(signal),
    ]);
    const atMs = asked;
    const statistics = wholeStatistics(all);
    const index = wholeIndex(entries);
    await this.#readInstances(server, statistics, index);
    return {
      atMs,
      server: { name: metadata.name, version: metadata.version },
      ready,
      index,
      statistics,
      ...metrics,
      instances: new Map(
        [...this.#instances].flatMap(([key, count]): [string, number][] =>
          count === undefined ? [] : [[key, count]],
        ),
      ),
    };
  }

  async #metrics(signal: AbortSignal): Promise<Pick<Reading, 'metrics' | 'withoutMetrics'>> {
    const { host, protocol, pathname } = this.#metricsUrl;
    const shown = `${protocol}//${host}${pathname}`;
    try {
      return {
        metrics: await fetchedText(
          { url: this.#metricsUrl },
          shown,
          Math.min(metricsMs, this.#options.timeoutMs),
          signal,
        ),
      };
    } catch (error) {
      const hint = this.#options.metricsUrl === undefined ? '; --metrics-url says where they are' : '';
      return { metrics: undefined, withoutMetrics: `${thrownText(error)}${hint}` };
    }
  }

  /** Asks for the configurations of versions that are new, or were loaded again. */
  async #readInstances(
    server: RemoteServer,
    statistics: readonly VersionStatistics[],
    index: readonly ModelStatus[] | undefined,
  ): Promise<void> {
    const served = new Set<string>();
    const unknown: VersionStatistics[] = [];
    for (const one of statistics) {
      const key = versionKey(one.name, one.version);
      served.add(key);
      const isAway = index?.some(
        ({ name, version, state }) => name === one.name && version === one.version && state !== 'READY',
      );
      if (isAway === true) continue;
      if ((this.#executions.get(key) ?? Infinity) > one.execution_count) this.#instances.delete(key);
      this.#executions.set(key, one.execution_count);
      if (!this.#instances.has(key) && unknown.length < mostConfigs) unknown.push(one);
    }
    for (const key of this.#instances.keys()) {
      if (served.has(key)) continue;
      this.#instances.delete(key);
      this.#executions.delete(key);
    }
    await Promise.all(
      unknown.map(async ({ name, version }) => {
        // Plain KServe v2 has no configurations.
        const count = await server
          .model(name, version)
          .then(async (model) => instancesOf(await model.config))
          .catch((): undefined => undefined);
        this.#instances.set(versionKey(name, version), count);
      }),
    );
  }
}
