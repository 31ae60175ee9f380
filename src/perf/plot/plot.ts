/**
 * Line plots as SVG text: series over an axis, with ticks, a legend in words, and a table for readers who
 * cannot see them.
 */

import { placeLabels } from './labels.js';

/** A line of a plot. */
export interface Series {
  readonly name: string;
  /** Class in the page's style sheet, which sets colour and dash. */
  readonly style: string;
  readonly points: readonly Point[];
  /** Whether a line joins the points (default true). */
  readonly joined?: boolean;
}

/** A point. `low` and `high` show its spread, if there is one. */
export interface Point {
  readonly x: number;
  readonly y: number;
  readonly low?: number;
  readonly high?: number;
  /** A word beside its mark. */
  readonly label?: string;
  /** What a pointer on its mark shows (default: its series and its place). */
  readonly title?: string;
}

/** How an axis is labelled and divided. */
export interface Axis {
  readonly label: string;
  readonly scale: 'linear' | 'log2' | 'log10';
  readonly format: (value: number) => string;
}

/** A plot. */
export interface Plot {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Whether it is as wide as two plots, for curves whose points are not marked. */
  readonly wide?: boolean;
  /** Whether points are marked; absent: those of a plot that is not wide. */
  readonly marked?: boolean;
}

/** The position of a plot in a larger picture. */
export interface Place {
  readonly x: number;
  readonly y: number;
}

/** The height of every plot. */
export const height = 300;

/** The width of a plot that is not wide. */
export const width = 520;

const area = { left: 64, top: 14, bottom: 252 } as const;

/** Maps values to places, and lists the values that get a mark. */
export interface Scale {
  readonly ticks: readonly number[];
  readonly place: (value: number) => number;
}

/**
 * A scale over the values.
 *
 * @param from - Place of the smallest value.
 * @param to - Place of the largest.
 */
export function scaleOf(kind: Axis['scale'], values: readonly number[], from: number, to: number): Scale {
  const finite = values.filter((value) => Number.isFinite(value) && (kind === 'linear' || value > 0));
  // As arguments of one call, many values would be too many.
  const least = finite.reduce((most, value) => Math.min(most, value), Infinity);
  const greatest = finite.reduce((most, value) => Math.max(most, value), -Infinity);
  if (finite.length === 0) return { ticks: [], place: () => from };
  if (kind === 'linear') {
    const top = greatest > 0 ? greatest : 1;
    const step = roundStep(top / 5);
    const ticks = Array.from({ length: Math.ceil(top / step - 1e-9) + 1 }, (_, i) => i * step);
    const end = ticks.at(-1) ?? top;
    return { ticks, place: (value) => from + ((to - from) * value) / end };
  }
  // For a small range, whole decades would squeeze all lines into a part of the plot.
  const steps = kind === 'log2' || greatest / least > 300 ? [1] : [1, 2, 5];
  const ticks = logTicks(least, greatest, kind === 'log2' ? 2 : 10, steps);
  const first = Math.log(ticks[0] ?? least);
  const last = Math.log(ticks.at(-1) ?? greatest);
  return { ticks, place: (value) => from + ((to - from) * (Math.log(value) - first)) / (last - first) };
}

/** Steps times powers of the base, from at most `least` to at least `greatest`. There are at least two. */
function logTicks(least: number, greatest: number, base: number, steps: readonly number[]): number[] {
  const log = (value: number): number => Math.log(value) / Math.log(base);
  const candidates: number[] = [];
  for (let exponent = Math.floor(log(least)) - 1; exponent <= Math.ceil(log(greatest)) + 1; exponent++) {
    candidates.push(...steps.map((step) => step * base ** exponent));
  }
  const start = Math.max(
    0,
    candidates.findLastIndex((tick) => tick <= least * (1 + 1e-9)),
  );
  const end = candidates.findIndex((tick) => tick >= greatest * (1 - 1e-9));
  return candidates.slice(start, Math.max(end, start + 1) + 1);
}

/** The smallest 1, 2 or 5 times a power of ten that is not less than the value. */
function roundStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/**
 * The plot as SVG.
 *
 * @param place - Its position in a larger picture; absent: the plot is a picture by itself.
 */
export function svg({ title, x, y, series, wide = false, marked = !wide }: Plot, place?: Place): string {
  const full = wide ? 2 * width + 20 : width;
  const right = full - 12;
  const points = series.flatMap((line) => line.points);
  const across = scaleOf(
    x.scale,
    points.map((point) => point.x),
    area.left,
    right,
  );
  const up = scaleOf(
    y.scale,
    points.flatMap(({ y: value, low = value, high = value }) => [value, low, high]),
    area.bottom,
    area.top,
  );
  const parts = [
    ...up.ticks.map((tick) => {
      const at = round(up.place(tick));
      return `<line class="grid" x1="${area.left}" x2="${right}" y1="${at}" y2="${at}"/><text class="tick" x="${area.left - 8}" y="${at + 4}" text-anchor="end">${escape(y.format(tick))}</text>`;
    }),
    ...across.ticks.map((tick) => {
      const at = round(across.place(tick));
      return `<line class="mark" x1="${at}" x2="${at}" y1="${area.bottom}" y2="${area.bottom + 4}"/><text class="tick" x="${at}" y="${area.bottom + 18}" text-anchor="middle">${escape(x.format(tick))}</text>`;
    }),
    `<line class="axis" x1="${area.left}" x2="${right}" y1="${area.bottom}" y2="${area.bottom}"/>`,
    `<text class="label" x="${(area.left + right) / 2}" y="${height - 8}" text-anchor="middle">${escape(x.label)}</text>`,
    `<text class="label" transform="translate(14 ${(area.top + area.bottom) / 2}) rotate(-90)" text-anchor="middle">${escape(y.label)}</text>`,
    ...series.map((line) => lineOf(line, x, y, across, up, marked, full)),
  ];
  const where = place ? ` x="${place.x}" y="${place.y}" width="${full}" height="${height}"` : '';
  return `<svg${where} viewBox="0 0 ${full} ${height}" role="img" aria-label="${escape(`${title}: ${y.label} against ${x.label}`)}">${parts.join('')}</svg>`;
}

function lineOf(
  { name, style, points, joined = true }: Series,
  x: Axis,
  y: Axis,
  across: Scale,
  up: Scale,
  marked: boolean,
  full: number,
): string {
  const placed = points.map((point) => ({
    point,
    left: round(across.place(point.x)),
    top: round(up.place(point.y)),
  }));
  const path = placed.map(({ left, top }, i) => `${i === 0 ? 'M' : 'L'}${left} ${top}`).join('');
  const labelled = placed.flatMap(({ point, left, top }) =>
    point.label === undefined ? [] : [{ left, top, text: point.label }],
  );
  const places = placeLabels(labelled, { left: area.left, right: full, top: 0, bottom: area.bottom });
  const labels = labelled.map(({ text }, i) => {
    const { x: at, y: line, anchor } = places[i] ?? { x: 0, y: 0, anchor: 'middle' };
    return `<text class="point" x="${round(at)}" y="${round(line)}" text-anchor="${anchor}">${escape(text)}</text>`;
  });
  const marks = !marked
    ? []
    : placed.map(({ point, left, top }) => {
        const { low, high } = point;
        const spread =
          low !== undefined && high !== undefined && high > low
            ? `<line x1="${left}" x2="${left}" y1="${round(up.place(low))}" y2="${round(up.place(high))}"/>`
            : '';
        const words = point.title ?? `${name}: ${y.format(point.y)} at ${x.format(point.x)}`;
        return `${spread}<circle cx="${left}" cy="${top}" r="3"><title>${escape(words)}</title></circle>`;
      });
  const line = joined ? `<path d="${path}"><title>${escape(name)}</title></path>` : '';
  return `<g class="series ${style}">${line}${marks.join('')}${marked ? labels.join('') : ''}</g>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Characters that XML does not have in any form: most control characters, and halves of pairs. */
const notInXml = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** Text for XML. */
export function escape(text: string): string {
  return text
    .replaceAll(notInXml, '\ufffd')
    .replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign] ?? sign);
}
