/** The metrics that plug-ins have made. They belong to the process, so each of its servers shows them. */

import type { Sliced } from '../slices.js';
import { labelText, type Exposition, type Labels } from './exposition.js';

/** A number; JSON has texts for those that it has no words for. */
type JsonNumber = number | '+Inf' | '-Inf' | 'NaN';

/** What `native/plugins/metrics.cc` writes. */
interface PluginFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly series: readonly {
    readonly labels: Labels;
    readonly value: JsonNumber;
    /** Of a histogram: the upper bounds of the buckets, and the counts, of which there is one more. */
    readonly bounds: readonly number[];
    readonly counts: readonly number[];
  }[];
}

function numberOf(value: JsonNumber): number {
  if (typeof value === 'number') return value;
  return value === 'NaN' ? Number.NaN : value === '+Inf' ? Infinity : -Infinity;
}

/**
 * Adds them to a scrape. A family whose name the server or the application has already is left out: Prometheus takes no text
 * with two of one name.
 *
 * @param json - Of the addon.
 */
export function* addPlugins(text: Exposition, json: string): Sliced<void> {
  // The addon has written this JSON.
  for (const { name, help, type, series } of JSON.parse(json) as readonly PluginFamily[]) {
    if (text.has(name)) continue;
    text.family(name, type, help);
    for (const { labels, value, bounds, counts } of series) {
      if (type === 'histogram') text.addHistogram(name, labels, bounds, counts, numberOf(value));
      else text.add(name, labelText(labels), numberOf(value));
      yield;
    }
  }
}
