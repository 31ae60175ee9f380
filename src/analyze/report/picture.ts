/** The picture of `--plot`: latency against throughput of all candidates, and the ones that none is better than in both. */

import { card } from '../../perf/plot/card.js';
import { short, significant, trimmed } from '../../perf/plot/numbers.js';
import { escape, height, svg, width, type Plot, type Point, type Series } from '../../perf/plot/plot.js';
import type { Analysis } from '../analyze.js';
import { candidateText } from '../space/space.js';

const margin = 16;
const top = 84;
const full = { width: width + 2 * margin, height: top + height + margin } as const;
const legend = { mark: 14, gap: 22, letter: 7.2 } as const;

/** The points of which none other has more throughput at less latency, from the least throughput on. */
export function frontOf<P extends { readonly x: number; readonly y: number }>(
  points: readonly P[],
): readonly P[] {
  const front: P[] = [];
  for (const point of [...points].sort((a, b) => b.x - a.x || a.y - b.y)) {
    const last = front.at(-1);
    if (last === undefined || point.y < last.y) front.push(point);
  }
  return front.reverse();
}

/** The picture as SVG. */
export function analysisPicture({ space, result }: Analysis, model: string): string {
  const pointsOf = (candidates: Analysis['result']['tried']): readonly Point[] =>
    candidates.flatMap(({ candidate, figures }) =>
      (figures?.levels ?? []).map(({ concurrency, throughput, latencyMs }) => ({
        x: throughput,
        y: latencyMs.p99,
        title: `${candidateText(space, candidate)}: ${significant(throughput)} infer/s, p99 ${significant(latencyMs.p99)} ms with ${concurrency} at once`,
      })),
    );
  const [present, ...others] = result.tried;
  const all = pointsOf(result.tried);
  const best = result.tried.filter(({ candidate }) => candidate.join() === result.best.join());
  const series: readonly Series[] = [
    { name: 'candidates', style: 'bare', joined: false, points: pointsOf(others) },
    { name: 'Pareto front', style: 'hand', points: frontOf(all) },
    {
      name: 'present',
      style: 'direct',
      joined: false,
      points: pointsOf(present === undefined ? [] : [present]),
    },
    { name: 'best', style: 'ours', joined: false, points: result.proposed ? pointsOf(best) : [] },
  ];
  const plot: Plot = {
    title: `${model}: latency`,
    x: { label: 'inferences/s', scale: 'linear', format: short },
    y: { label: 'p99 latency, ms', scale: 'linear', format: trimmed },
    series,
  };
  const shown = series.filter(({ points }) => points.length > 0);
  const about = result.proposed
    ? `best: ${candidateText(space, result.best)}`
    : 'nothing is better than the present configuration by more than chance';
  return card(
    full,
    `Latency of ${model} against its throughput, for ${result.tried.length} candidates`,
    `<text class="title" x="${margin + 8}" y="28">${escape(`Candidates: ${model}`)}</text>
<text x="${margin + 8}" y="48">${escape(about)}</text>
${legendOf(shown)}
${svg(plot, { x: margin, y: top })}`,
  );
}

function legendOf(series: readonly Series[]): string {
  let left = margin + 8;
  return series
    .map(({ name, style }) => {
      const entry = `<g class="series ${style}"><circle cx="${left + 5}" cy="66" r="4"/></g><text class="name" x="${left + legend.mark}" y="70">${escape(name)}</text>`;
      left += legend.mark + Math.round(name.length * legend.letter) + legend.gap;
      return entry;
    })
    .join('');
}
