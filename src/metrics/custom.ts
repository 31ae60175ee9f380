/** The application's own metrics, besides those of the server. */

import type { Metric, MetricOptions } from '../api/metric.js';
import { checkObject, expected, readList, readOptions } from '../argument-checks.js';
import { invalidArgument, TritonError } from '../errors.js';
import type { Sliced } from '../slices.js';
import { labelText, type Exposition, type Labels } from './exposition.js';

/** The series of a metric: labels and current value of each. */
export type MetricSeries = readonly { readonly labels: Labels; readonly value: number }[];

type Type = MetricOptions['type'];

/** The default buckets of Prometheus' clients. */
const usualBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const abilities: Readonly<Record<Type, readonly (keyof Metric)[]>> = {
  counter: ['increment'],
  gauge: ['increment', 'set'],
  histogram: ['observe'],
};

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: Type;
  readonly labelNames: string;
  readonly buckets: readonly number[];
  /** Series by the text of their labels. */
  readonly series: Map<string, Series>;
}

class Series implements Metric {
  readonly labels: Labels;
  readonly #family: Pick<Family, 'name' | 'type' | 'buckets'>;
  readonly counts: number[];
  /** The value; for a histogram, the sum of observations. */
  value = 0;

  constructor(family: Pick<Family, 'name' | 'type' | 'buckets'>, labels: Labels) {
    this.#family = family;
    this.labels = labels;
    this.counts = new Array<number>(family.buckets.length + 1).fill(0);
  }

  // Bound to the object, so that `const { increment } = metric` works as in other metrics libraries.
  readonly increment = (by = 1): void => {
    this.#check('increment', by);
    if (this.#family.type === 'counter' && by < 0)
      throw invalidArgument(
        `metric '${this.#family.name}' is a counter, which grows: expected 0 or more but received ${by}`,
      );
    this.value += by;
  };

  readonly set = (value: number): void => {
    this.#check('set', value);
    this.value = value;
  };

  readonly observe = (value: number): void => {
    this.#check('observe', value);
    const { buckets } = this.#family;
    let index = 0;
    while (index < buckets.length && (buckets[index] ?? Infinity) < value) index++;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.value += value;
  };

  /** See {@link valueOf}. */
  single(): number {
    const { name, type } = this.#family;
    if (type !== 'histogram') return this.value;
    throw new TritonError('UNSUPPORTED', `metric '${name}' is a histogram, which has no single value`);
  }

  #check(what: keyof Metric, value: unknown): void {
    const { name, type } = this.#family;
    if (!abilities[type].includes(what)) {
      const has = abilities[type].map((one) => `${one}()`).join(' and ');
      throw new TritonError('UNSUPPORTED', `metric '${name}' is a ${type}, which has ${has}, not ${what}()`);
    }
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw expected('a finite number', `${what}() of metric '${name}'`, value);
  }
}

/**
 * The current value of a counter or gauge.
 *
 * @throws {@link TritonError} UNSUPPORTED for a histogram, which has no single value.
 */
export function valueOf(metric: Metric): number {
  if (!(metric instanceof Series)) throw invalidArgument('expected a metric of a server');
  return metric.single();
}

/** The application's metrics of one server. */
export class CustomMetrics {
  readonly #families: Map<string, Family> = new Map();

  /**
   * Returns a metric. Equal options return the same metric.
   *
   * @throws {@link TritonError} INVALID_ARG for names, labels or buckets that Prometheus does not accept,
   *   ALREADY_EXISTS if the name has another type, help, label names or buckets.
   */
  metric(options: MetricOptions): Metric {
    const given = checkOptions(options);
    const { name, labels } = given;
    let family = this.#families.get(name);
    if (family) {
      checkSame(family, given);
    } else {
      this.#checkNames(given);
      family = { ...given, series: new Map() };
      this.#families.set(name, family);
    }
    const key = labelText(labels);
    let series = family.series.get(key);
    if (!series) {
      series = new Series(family, labels);
      family.series.set(key, series);
    }
    return series;
  }

  /** Adds all metrics to a scrape. */
  *addTo(text: Exposition): Sliced<void> {
    for (const { name, type, help, buckets, series } of this.#families.values()) {
      text.family(name, type, help);
      for (const { labels, counts, value } of series.values()) {
        if (type === 'histogram') text.addHistogram(name, labels, buckets, counts, value);
        else text.add(name, labelText(labels), value);
        yield;
      }
    }
  }

  /** All series of a gauge or counter; empty if there is no such metric. */
  seriesOf(name: string): MetricSeries {
    return [...(this.#families.get(name)?.series.values() ?? [])];
  }

  /** Checks that no other metric has the name of one of a histogram's series, such as `…_sum`. */
  #checkNames({ name, type }: { readonly name: string; readonly type: Type }): void {
    for (const known of this.#families.values()) {
      const histogram = known.type === 'histogram' ? known.name : type === 'histogram' ? name : undefined;
      const other = known.type === 'histogram' ? name : known.name;
      if (histogram !== undefined && ['_bucket', '_count', '_sum'].some((end) => histogram + end === other)) {
        throw new TritonError(
          'ALREADY_EXISTS',
          `metric '${name}': the histogram '${histogram}' uses the series name '${other}'; choose another name`,
        );
      }
    }
  }
}

interface Checked extends Omit<Family, 'series'> {
  readonly labels: Labels;
}

function checkOptions(options: unknown): Checked {
  const keys = [
    'name',
    'help',
    'type',
    'labels',
    'buckets',
  ] as const satisfies readonly (keyof MetricOptions)[];
  const {
    name,
    help,
    type,
    labels = {},
    buckets,
  } = readOptions<MetricOptions>(options, keys, 'metric options');
  if (typeof name !== 'string' || !/^[a-z_:][a-z0-9_:]*$/i.test(name))
    throw expected(
      "a metric's name, of letters, digits, _ and :, with no digit first,",
      'options.name',
      name,
    );
  // nv_trt_llm_… is allowed: Triton's LLM backend reports these metrics, and load balancers read them.
  if (/^(nv_(?!trt_llm_)|tritonts_)/.test(name))
    throw invalidArgument(`metric '${name}': the prefixes nv_ and tritonts_ are reserved for the server`);
  if (typeof help !== 'string' || help.trim() === '')
    throw expected('a text', `options.help of metric '${name}'`, help);
  if (type !== 'counter' && type !== 'gauge' && type !== 'histogram')
    throw expected("'counter', 'gauge' or 'histogram'", `options.type of metric '${name}'`, type);
  const checkedLabels = checkLabels(name, type, labels);
  return {
    name,
    help,
    type,
    labels: checkedLabels,
    labelNames: Object.keys(checkedLabels).sort().join(', '),
    buckets: checkBuckets(name, type, buckets),
  };
}

function checkLabels(name: string, type: Type, labels: unknown): Labels {
  const path = `options.labels of metric '${name}'`;
  checkObject(labels, path);
  const entries = Object.entries(labels) as [string, unknown][];
  for (const [label, value] of entries) {
    if (!/^(?!__)[a-z_][a-z0-9_]*$/i.test(label) || (type === 'histogram' && label === 'le')) {
      throw invalidArgument(
        `expected names of labels of letters, digits and _, with no digit and no __ first${type === 'histogram' ? ", other than 'le'," : ''} in ${path} but received '${label}'`,
      );
    }
    if (typeof value !== 'string') throw expected('a string', `label '${label}' in ${path}`, value);
    // Encoded as UTF-8, different lone surrogates would become the same text.
    if (/\p{Surrogate}/u.test(value))
      throw invalidArgument(`expected a string without lone surrogates for label '${label}' in ${path}`);
  }
  // All values were just checked.
  return Object.freeze(Object.fromEntries(entries as [string, string][]));
}

function checkBuckets(name: string, type: Type, buckets: unknown): readonly number[] {
  if (type !== 'histogram') {
    if (buckets === undefined) return [];
    throw invalidArgument(`metric '${name}' is a ${type}: only a histogram has buckets`);
  }
  if (buckets === undefined) return usualBuckets;
  // The copy has undefined in place of holes, which every() would skip.
  const path = `options.buckets of metric '${name}'`;
  const bounds: readonly unknown[] = Array.isArray(buckets) ? readList(buckets, 'an array', path) : [];
  const isBound = (bound: unknown, i: number): bound is number =>
    typeof bound === 'number' && Number.isFinite(bound) && bound > Number(bounds[i - 1] ?? -Infinity);
  if (bounds.length > 0 && bounds.every(isBound)) return Object.freeze([...bounds]);
  throw expected('an array of finite numbers, each above the one before,', path, buckets);
}

function checkSame(known: Family, given: Checked): void {
  const differs = (what: string, before: string, now: string): void => {
    if (before === now) return;
    throw new TritonError(
      'ALREADY_EXISTS',
      `metric '${known.name}' has ${what} ${before === '' ? '(none)' : before}, not ${now === '' ? '(none)' : now}`,
    );
  };
  differs('type', known.type, given.type);
  differs('help', `'${known.help}'`, `'${given.help}'`);
  differs('labels', known.labelNames, given.labelNames);
  differs('buckets', known.buckets.join(', '), given.buckets.join(', '));
}
