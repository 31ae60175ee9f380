/** Writes the metrics of a server for Prometheus. */

import type { CustomMetrics } from './custom.js';
import { Exposition } from './exposition.js';
import { addon } from '../addon/load.js';
import type { NativeCacheCounts, NativeResource } from '../addon/native/statistics.js';
import { addCache } from './cache-families.js';
import { addLazy, type LazyNumbers } from './lazy-families.js';
import { addLoads } from './load-families.js';
import { addResources } from './resource-families.js';
import { addGpus, addPools, type GpuInUse } from './gpu-families.js';
import type { Machine } from './machine.js';
import { addPlugins } from './plugin-families.js';
import type { ResolvedMetrics } from './metrics-config.js';
import { addModels, type VersionSample } from './model-families.js';
import type { LoadTimes } from './load-times.js';
import type { Sliced } from '../slices.js';

/** The sources of the text. */
export interface MetricsSources {
  readonly config: ResolvedMetrics;
  readonly boundsNs: readonly number[];
  /** Iterated lazily: each version is sampled when it is written. */
  readonly versions: Iterable<VersionSample>;
  readonly machine: Machine;
  readonly gpus: readonly GpuInUse[];
  readonly inFlightBytes: number;
  /** The resources of the rate limiter. */
  readonly resources: readonly NativeResource[];
  /** The response cache; undefined: there is none. */
  readonly cache: NativeCacheCounts | undefined;
  /** Undefined: this server has loaded nothing. */
  readonly loads: LoadTimes | undefined;
  /** Undefined: no model was lazy so far, or another environment loads them. */
  readonly lazy: LazyNumbers | undefined;
  readonly custom: CustomMetrics;
  /** The metrics of plug-ins, as the addon writes them. */
  readonly plugins: string;
}

/** Prometheus' text format, version 0.0.4: models, machine, server, application. */
export function* metricsText(sources: MetricsSources): Sliced<string> {
  const {
    config,
    boundsNs,
    versions,
    machine,
    gpus,
    inFlightBytes,
    resources,
    cache,
    loads,
    lazy,
    custom,
    plugins,
  } = sources;
  const text = new Exposition();
  yield* addModels(text, versions, config, boundsNs);
  const { utilization, totalBytes, usedBytes } = machine.sample();
  const gauge = (name: string, help: string, value: number): void => {
    text.family(name, 'gauge', help);
    text.add(name, '', value);
  };
  gauge('nv_cpu_utilization', 'Busy share of all processors, 0 to 1', utilization);
  gauge('nv_cpu_memory_total_bytes', 'Memory of the machine or container', totalBytes);
  gauge('nv_cpu_memory_used_bytes', 'Used memory of the machine or container', usedBytes);
  addGpus(text, gpus);
  if (gpus.length > 0) addPools(text, gpus, addon().gpuPools());
  gauge('tritonts_in_flight_bytes', 'Bytes of requests in flight', inFlightBytes);
  addResources(text, resources);
  addCache(text, cache);
  addLoads(text, loads);
  addLazy(text, lazy);
  yield* custom.addTo(text);
  yield* addPlugins(text, plugins);
  return yield* text.text();
}
