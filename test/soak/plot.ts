/** Draws the soak's samples as an SVG, with a small line chart for each column. */

import type { Sample } from './sample.js';

const width = 720;
const height = 120;
const left = 110;

function format(column: string, value: number): string {
  return column === 'rss' || column === 'external' || column === 'heap'
    ? `${(value / 2 ** 20).toFixed(1)} MiB`
    : String(value);
}

/** Draws one chart below the other, each from its least to its greatest value. */
export function plot(
  samples: readonly Sample[],
  columns: readonly (keyof Sample)[],
  counted: string,
): string {
  const last = samples.at(-1)?.count ?? 1;
  const charts = columns.map((column, row) => {
    const values = samples.map((sample) => sample[column]);
    const least = Math.min(...values);
    const most = Math.max(...values);
    const points = samples.map((sample) => {
      const x = left + (sample.count / last) * (width - left - 10);
      const y = height - 25 - ((sample[column] - least) / (most - least || 1)) * (height - 50);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
    return `<g transform="translate(0 ${row * height})">
  <text x="8" y="22" font-weight="bold">${column}</text>
  <text x="8" y="42">${format(column, most)}</text>
  <text x="8" y="${height - 25}">${format(column, least)}</text>
  <polyline fill="none" stroke="#2563eb" stroke-width="1.5" points="${points.join(' ')}"/>
</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height * columns.length + 24}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="white"/>
${charts.join('\n')}
<text x="${left}" y="${height * columns.length + 14}">${counted}, 0 to ${last.toLocaleString('en')}</text>
</svg>
`;
}
