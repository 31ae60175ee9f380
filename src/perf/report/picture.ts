/** The picture of `--plot`: throughput against latency, one point a level. It is one SVG file that needs nothing else. */

import { throughputOf } from '../measure/level.js';
import { card } from '../plot/card.js';
import { escape, height, svg, width, type Plot, type Series } from '../plot/plot.js';
import type { PerfRun } from '../run.js';
import { latencyPoints } from './compare.js';
import type { ReadRun } from './json.js';
import { short, trimmed } from '../plot/numbers.js';

const margin = 16;
const top = 84;
const full = { width: width + 2 * margin, height: top + height + margin } as const;
const legendWidths = { line: 28, gap: 22, letter: 7.2 } as const;

/** Colour and dash of each line, as a class of the style sheet. */
const styles = { p50: 'ours', p99: 'direct', other: 'hand' } as const;

/**
 * The picture.
 *
 * @param other - The run that this one is compared with; undefined: none.
 */
export function perfPicture(run: PerfRun, other: ReadRun | undefined): string {
  const { model, kind, place, levels, batch } = run;
  const isRate = levels[0]?.mode === 'request rate';
  const line = (name: string, style: string, percent: number): Series => ({
    name,
    style,
    points: levels.map((level) => ({
      x: throughputOf(level),
      y: level.tally.latency.percentileMs(percent),
      ...(percent === 99 && { label: trimmed(level.value) }),
    })),
  });
  const series: Series[] = [
    ...(other === undefined
      ? []
      : [
          {
            name: 'p99, the other run',
            style: styles.other,
            points: latencyPoints(other).map(({ throughput, p99Ms }) => ({ x: throughput, y: p99Ms })),
          },
        ]),
    line('p99', styles.p99, 99),
    line('p50', styles.p50, 50),
  ];
  const plot: Plot = {
    title: `${model}: latency`,
    x: { label: 'inferences/s', scale: 'linear', format: short },
    y: { label: 'latency, ms', scale: 'linear', format: trimmed },
    series,
  };
  const rows = batch === 1 ? '' : `, ${batch} rows a request`;
  const about = `${kind === 'in process' ? 'in process' : place}${rows}; points: ${isRate ? 'requests a second' : 'requests at once'}`;
  const label = `Latency of ${model} against its throughput, ${about}`;
  return card(
    full,
    label,
    `<text class="title" x="${margin + 8}" y="28">${escape(`Latency against throughput: ${model}`)}</text>
<text x="${margin + 8}" y="48">${escape(about)}</text>
${legend(series)}
${svg(plot, { x: margin, y: top })}`,
  );
}

function legend(series: readonly Series[]): string {
  let left = margin + 8;
  return series
    .map(({ name, style }) => {
      const entry = `<g class="series ${style}"><path d="M${left} 66h${legendWidths.line}"/></g><text class="name" x="${left + legendWidths.line + 8}" y="70">${escape(name)}</text>`;
      left += legendWidths.line + 8 + Math.round(name.length * legendWidths.letter) + legendWidths.gap;
      return entry;
    })
    .join('');
}
