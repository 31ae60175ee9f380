/** Writes Prometheus' text format, version 0.0.4. */

import type { Sliced } from '../slices.js';

/** The format's types of metrics. */
export type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';

/** Labels by name. */
export type Labels = Readonly<Record<string, string>>;

function escapeValue(value: string): string {
  return value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);
}

function escapeHelp(value: string): string {
  return value.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
}

function joined(entries: readonly (readonly [string, string])[]): string {
  return entries.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(',');
}

function sorted(labels: Labels): [string, string][] {
  return Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Labels in the form that follows a name, sorted by name; empty if there are none. */
export function labelText(labels: Labels): string {
  const text = joined(sorted(labels));
  return text === '' ? '' : `{${text}}`;
}

/** {@link labelText} with one more label, whose value is inserted later. Many series differ only in that label. */
export function labelsAround(labels: Labels, name: string): (value: string) => string {
  const entries = sorted(labels);
  const before = joined(entries.filter(([key]) => key < name));
  const after = joined(entries.filter(([key]) => key > name));
  const head = `{${before === '' ? '' : `${before},`}${name}="`;
  const tail = `"${after === '' ? '' : `,${after}`}}`;
  return (value) => `${head}${escapeValue(value)}${tail}`;
}

/** A number in the format. */
export function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

/** The lines that are joined between two yields. */
const portion = 256;

/** The text of a scrape, family by family. A family without a series is left out. */
export class Exposition {
  readonly #families: Map<string, { readonly head: string; readonly lines: string[] }> = new Map();

  /** Declares a family. Families appear in the order of their declaration. */
  family(name: string, type: MetricType, help: string): void {
    const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    this.#families.set(name, { head, lines: [] });
  }

  /** Whether a family with this name was declared. */
  has(name: string): boolean {
    return this.#families.has(name);
  }

  /**
   * Adds a series.
   *
   * @param labels - In the form of {@link labelText}.
   * @param suffix - Appended to the family's name, for the parts of a histogram or summary.
   */
  add(name: string, labels: string, value: string | number, suffix = ''): void {
    const text = typeof value === 'number' ? numberText(value) : value;
    this.#families.get(name)?.lines.push(`${name}${suffix}${labels} ${text}\n`);
  }

  /** Adds a histogram. `counts` has one bucket more than there are bounds. */
  addHistogram(
    name: string,
    labels: Labels,
    bounds: readonly number[],
    counts: readonly number[],
    sum: number,
  ): void {
    const all = this.addBuckets(name, labels, bounds, counts, '_bucket');
    const plain = labelText(labels);
    this.add(name, plain, all, '_count');
    this.add(name, plain, sum, '_sum');
  }

  /** Adds only the buckets of a histogram, with cumulative counts. */
  addBuckets(
    name: string,
    labels: Labels,
    bounds: readonly number[],
    counts: readonly number[],
    suffix = '',
  ): number {
    const within = labelsAround(labels, 'le');
    let all = 0;
    counts.forEach((count, i) => {
      all += count;
      this.add(name, within(numberText(bounds[i] ?? Infinity)), all, suffix);
    });
    return all;
  }

  /** The text. */
  *text(): Sliced<string> {
    let text = '';
    for (const { head, lines } of this.#families.values()) {
      if (lines.length > 0) text += head;
      for (let i = 0; i < lines.length; i += portion) {
        text += lines.slice(i, i + portion).join('');
        yield;
      }
    }
    return text;
  }
}
