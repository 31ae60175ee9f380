/** Chooses the plots of a run and makes series of its rows. All functions are pure. */
import { meanSize } from './histogram.js';
import type { Axis, Plot, Point, Series } from '../../src/perf/plot/plot.js';
import { short, significant, trimmed } from '../../src/perf/plot/numbers.js';
import type { ContestantName, ContestantRow, DelayRow, DelaySample, LoadRow } from './results.js';

/** Colour and dash of each contestant, as a class of the page's style sheet, in the order of the legend. */
export const styles: readonly (readonly [name: ContestantName, style: string])[] = [
  ['tritonts', 'ours'],
  ['tritonts, inline off', 'off'],
  ['onnxruntime-node', 'direct'],
  ['batched by hand', 'hand'],
  ['piscina', 'piscina'],
  ['bare C++ loop', 'bare'],
  ['setImmediate', 'bare'],
  ['idle loop', 'bare'],
];

const outstanding: Axis = { label: 'requests outstanding', scale: 'log2', format: String };

/** A series for each contestant that has at least one point. */
function seriesOf(
  loads: readonly LoadRow[],
  pointOf: (row: ContestantRow, load: LoadRow) => Omit<Point, 'x'> | undefined,
): Series[] {
  return styles.flatMap(([name, style]) => {
    const points = loads.flatMap((load) => {
      const row = load.contestants.find(({ contestant }) => contestant === name);
      const point = row && pointOf(row, load);
      return point ? [{ x: load.outstanding, ...point }] : [];
    });
    return points.length > 0 ? [{ name, style, points }] : [];
  });
}

/** Throughput, both latencies and batch sizes of one model against the requests outstanding. */
export function plotsOf(model: string, loads: readonly LoadRow[]): Plot[] {
  const own = loads.filter((row) => row.model === model).toSorted((a, b) => a.outstanding - b.outstanding);
  const latency = (which: 'p50' | 'p99'): Series[] =>
    seriesOf(own, (row) => row.latency && { y: row.latency[which] });
  const milliseconds = (label: string): Axis => ({
    label,
    scale: 'log10',
    format: (value) => trimmed(value),
  });
  const plots: Plot[] = [
    {
      title: `${model}: throughput`,
      x: outstanding,
      y: { label: 'requests/s', scale: 'log10', format: short },
      series: seriesOf(own, ({ requestsPerSecond: { median, least, greatest } }) => ({
        y: median,
        low: least,
        high: greatest,
      })),
    },
    {
      title: `${model}: batches`,
      x: outstanding,
      y: { label: 'requests in a run, mean', scale: 'log2', format: short },
      series: seriesOf(own, ({ batches }) =>
        batches && batches.size > 0 ? { y: meanSize(batches) } : undefined,
      ),
    },
    {
      title: `${model}: latency, median`,
      x: outstanding,
      y: milliseconds('p50, ms'),
      series: latency('p50'),
    },
    {
      title: `${model}: latency, 99th percentile`,
      x: outstanding,
      y: milliseconds('p99, ms'),
      series: latency('p99'),
    },
  ];
  return plots.filter(({ series }) => series.length > 0);
}

/** The bottom of the delay's plot, in milliseconds. Shorter delays do not matter. */
const floor = 0.1;

/** The line of a timer that is due, waits, and comes. It is steep at first, because of the axis. */
function rising({ at, late }: DelaySample): Point[] {
  const points: Point[] = [{ x: Math.max(0, at - late), y: floor }];
  for (let waited = 2 * floor; waited < late; waited *= 2) points.push({ x: at - late + waited, y: waited });
  return [...points, { x: at, y: Math.max(floor, late) }, { x: at, y: floor }];
}

/**
 * The lateness of timers over time, under every measured contestant and without load. Delays range
 * from a fraction of a millisecond to some hundred, so the axis is logarithmic.
 */
export function delayPlot(rows: readonly DelayRow[]): Plot | undefined {
  const watched = rows.filter(({ timeLine }) => timeLine.length > 0);
  if (watched.length === 0) return undefined;
  // Long delays come first, so that the low lines are drawn over them and not hidden.
  const series = watched
    .toSorted((a, b) => b.p99.median - a.p99.median)
    .map(({ contestant, p99, timeLine }) => ({
      name: `${contestant}, p99 ${significant(p99.median)} ms`,
      style: styles.find(([name]) => name === contestant)?.[1] ?? 'bare',
      points: timeLine.flatMap(rising),
    }));
  return {
    title: `Delay of the event loop beside ${rows[0]?.model ?? ''}, ${rows[0]?.outstanding ?? 0} outstanding`,
    x: { label: 'time, ms', scale: 'linear', format: short },
    y: { label: `a timer of 1 ms waits, ms (from ${floor})`, scale: 'log10', format: short },
    series,
    wide: true,
  };
}
