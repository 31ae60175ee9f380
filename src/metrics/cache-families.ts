/** The families of the response cache: of the cache itself, and of the models that use it. */

import type {
  NativeCacheCounts,
  NativeLocalCacheCounts,
  NativeRemoteCacheCounts,
  NativeStatistics,
} from '../addon/native/statistics.js';
import { labelText, type Exposition, type Labels } from './exposition.js';

type Family<C> = readonly [name: string, help: string, value: (counts: C) => number];

const cacheFamilies: readonly Family<NativeLocalCacheCounts>[] = [
  ['nv_cache_util', 'Used share of the response cache, 0 to 1', ({ used, size }) => used / size],
  ['nv_cache_num_entries', 'Responses in the response cache', ({ entries }) => entries],
  ['nv_cache_num_lookups', 'Look-ups in the response cache', ({ hits, misses }) => hits + misses],
  ['nv_cache_num_hits', 'Look-ups that found a response', ({ hits }) => hits],
  ['nv_cache_num_misses', 'Look-ups that found none', ({ misses }) => misses],
  ['nv_cache_num_evictions', 'Responses that made room for others', ({ evictions }) => evictions],
  ['nv_cache_lookup_duration', 'Microseconds of all look-ups', ({ lookupNs }) => microseconds(lookupNs)],
  [
    'nv_cache_insertion_duration',
    'Microseconds of all insertions',
    ({ insertionNs }) => microseconds(insertionNs),
  ],
];

/** Of a cache outside of the process, nobody knows how full it is. */
const remoteFamilies: readonly Family<NativeRemoteCacheCounts>[] = [
  ['nv_cache_num_lookups', 'Look-ups in the response cache', ({ hits, misses }) => hits + misses],
  ['nv_cache_num_hits', 'Look-ups that found a response', ({ hits }) => hits],
  ['nv_cache_num_misses', 'Look-ups that found none', ({ misses }) => misses],
  ['nv_cache_lookup_duration', 'Microseconds of all look-ups', ({ lookupNs }) => microseconds(lookupNs)],
];

const hits = 'nv_cache_num_hits_per_model';
const misses = 'nv_cache_num_misses_per_model';
const hitDuration = 'nv_cache_hit_duration_per_model';
const missDuration = 'nv_cache_miss_duration_per_model';

/** Whole microseconds, rounded down, so that counters never decrease. */
function microseconds(ns: number): number {
  return Math.floor(ns / 1000);
}

/** Adds the families of the cache. They are gauges, as in Triton. Nothing without a cache. */
export function addCache(text: Exposition, counts: NativeCacheCounts | undefined): void {
  if (counts === undefined) return;
  const add = <C>(families: readonly Family<C>[], of: C): void => {
    for (const [name, help, value] of families) {
      text.family(name, 'gauge', help);
      text.add(name, '', value(of));
    }
  };
  if ('size' in counts) add(cacheFamilies, counts);
  // Triton leaves these to the plug-in.
  else if (!counts.plugin) add(remoteFamilies, counts);
}

/** Declares the families of models. Those without a series are left out of the text. */
export function declareCached(text: Exposition): void {
  text.family(hits, 'counter', 'Requests that the response cache answered');
  text.family(misses, 'counter', 'Requests that the response cache could not answer');
  text.family(hitDuration, 'counter', 'Microseconds of the look-ups of hits');
  text.family(missDuration, 'counter', 'Microseconds of the look-ups and insertions of misses');
}

/** Adds the series of a version whose responses are cached. */
export function addCached(
  text: Exposition,
  { cacheHit, cacheMiss }: Pick<NativeStatistics, 'cacheHit' | 'cacheMiss'>,
  labels: Labels,
  latencies: boolean,
): void {
  const plain = labelText(labels);
  text.add(hits, plain, cacheHit.count);
  text.add(misses, plain, cacheMiss.count);
  if (!latencies) return;
  text.add(hitDuration, plain, microseconds(cacheHit.ns));
  text.add(missDuration, plain, microseconds(cacheMiss.ns));
}
