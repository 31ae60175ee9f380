/** The README's picture, self-contained: throughput on the left, the event loop's delay on the right. */
import { escape, height, svg, width, type Plot, type Point } from '../../src/perf/plot/plot.js';
import { card } from '../../src/perf/plot/card.js';
import { short } from '../../src/perf/plot/numbers.js';
import { plotsOf, styles } from '../reports/plots.js';
import { columns, drawn, watched } from './rows.js';
import type { DelayRow, DelaySample } from '../reports/results.js';
import type { Stored } from './stored.js';

const margin = 16;
const top = 84;
const full = { width: 2 * width + 3 * margin, height: top + height + margin } as const;
const right = width + 2 * margin;

/** An entry of the legend is as wide as its words and its line. */
const legendWidths = { line: 28, gap: 26, letter: 7.4 } as const;

/** The picture as SVG. Its background is opaque, because a dark picture may be shown on a light page. */
export function picture(stored: Stored): string {
  const throughput = plotsOf(drawn.model, stored.loads)[0];
  const delay = delayPlot(stored.delays);
  if (!throughput || delay.series.length === 0)
    throw new Error('the stored results lack what the picture draws');
  const label = `Throughput of tritonts beside others, ${drawn.title}, and how late timers come beside a ${watched.title}`;
  return card(
    full,
    label,
    `${legend()}
${title(margin, `Requests a second: ${drawn.title}`)}
${title(right, `Delay of the event loop: ${watched.title}`)}
${svg({ ...throughput, y: { ...throughput.y, scale: 'linear' } }, { x: margin, y: top })}
${svg(delay, { x: right, y: top })}`,
  );
}

/** The lateness of timers, over the time for which all contestants were watched. */
function delayPlot(rows: readonly DelayRow[]): Plot {
  const seen = rows.filter(({ contestant, timeLine }) => contestant !== 'idle loop' && timeLine.length > 0);
  const until = Math.min(...seen.map(({ timeLine }) => timeLine.at(-1)?.at ?? 0));
  return {
    title: 'Delay of the event loop',
    x: { label: 'time, ms', scale: 'linear', format: short },
    y: { label: 'a timer of 1 ms waits, ms', scale: 'linear', format: short },
    // Long delays first: the lines that stay low are then drawn over them.
    series: seen
      .toSorted((a, b) => b.p99.median - a.p99.median)
      .map(({ contestant, timeLine }) => ({
        name: contestant,
        style: styleOf(contestant),
        points: timeLine.flatMap((sample) => rising(sample, until)),
      })),
    marked: false,
  };
}

/** The line of a timer from due to fired, cut at the end of the plot. */
function rising({ at, late }: DelaySample, until: number): Point[] {
  const due = Math.max(0, at - late);
  if (due >= until) return [];
  if (at > until)
    return [
      { x: due, y: 0 },
      { x: until, y: until - due },
    ];
  return [
    { x: due, y: 0 },
    { x: at, y: late },
    { x: at, y: 0 },
  ];
}

function styleOf(name: DelayRow['contestant']): string {
  return styles.find(([contestant]) => contestant === name)?.[1] ?? 'bare';
}

function title(left: number, text: string): string {
  return `<text class="title" x="${left + 8}" y="68">${escape(text)}</text>`;
}

/** One line of names, for both plots. */
function legend(): string {
  let left = margin + 8;
  return columns
    .toReversed()
    .map(([name, text]) => {
      const entry = `<g class="series ${styleOf(name)}"><path d="M${left} 28h${legendWidths.line}"/></g><text class="name" x="${left + legendWidths.line + 8}" y="32">${escape(text)}</text>`;
      left += legendWidths.line + 8 + Math.round(text.length * legendWidths.letter) + legendWidths.gap;
      return entry;
    })
    .join('');
}
