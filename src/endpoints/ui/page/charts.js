// The charts of a version, or of all.

import { draw, find, make, shown } from './dom.js';
import { keyOf } from './figures.js';
import { mostPoints, pointsOf } from './points.js';

const chartSize = { width: 360, height: 130, left: 44, bottom: 112, top: 8 };

/** A number not below the value: 1, 2 or 5 times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((factor) => factor * power >= value * (1 - 1e-9)) * power;
}

function chart(title, unit, lines, points) {
  const { width, height, left, bottom, top } = chartSize;
  const values = points.flatMap((point) => lines.map(({ of }) => point[of])).filter(Number.isFinite);
  // Without a value above 0 the axis is one that a reader expects.
  const most = roundUp(Math.max(...values, 0) || 1);
  const x = (i) => left + ((width - left - 6) * (i + mostPoints - points.length)) / (mostPoints - 1);
  const y = (value) => bottom - ((bottom - top) * value) / most;
  const paths = lines.map(({ of }, i) => {
    const has = (at) => Number.isFinite(points[at]?.[of]);
    const place = (at) => [x(at).toFixed(1), y(points[at][of]).toFixed(1)];
    const known = points.map((_, at) => at).filter(has);
    const path = known.map((at) => `${has(at - 1) ? 'L' : 'M'}${place(at).join(' ')}`).join('');
    // A line needs two points. With a request now and then, a point stands alone.
    const alone = known.filter((at) => !has(at - 1) && !has(at + 1)).map(place);
    return draw(
      'g',
      { class: `line${i}` },
      draw('path', { class: 'plot', d: path }),
      ...alone.map(([cx, cy]) => draw('circle', { cx, cy, r: 2 })),
    );
  });
  const last = points.at(-1) ?? {};
  const now = lines.map(({ name, of }) => `${name === '' ? '' : `${name} `}${shown(last[of])}`);
  const picture = draw(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': `${title}, ${unit}; now ${now.join(', ')}; the axis ends at ${shown(most)}`,
    },
    ...[0, 0.5, 1].flatMap((share) => [
      draw('line', { class: 'grid', x1: left, x2: width - 6, y1: y(share * most), y2: y(share * most) }),
      draw('text', { x: left - 6, y: y(share * most) + 4, 'text-anchor': 'end' }, shown(share * most)),
    ]),
    ...paths,
  );
  const legend = lines.map(({ name, of }, i) =>
    make('span', { className: `line${i}` }, `${name === '' ? '' : `${name} `}${shown(last[of])}`),
  );
  return make('figure', {}, make('figcaption', {}, make('b', {}, `${title}, ${unit}`), ...legend), picture);
}

/** Shows the charts of the chosen version; undefined: of all. */
export function showCharts(chosen) {
  const points = pointsOf(chosen === undefined ? '' : keyOf(chosen.model, chosen.version));
  const title =
    chosen === undefined ? 'All models' : `Model ${chosen.model}, version ${chosen.version ?? '–'}`;
  find('charts-title').textContent = title;
  find('charts').replaceChildren(
    chart(
      'Throughput',
      'requests/s',
      [
        { name: 'answered', of: 'requests' },
        { name: 'failed', of: 'failures' },
      ],
      points,
    ),
    chart(
      'Latency',
      'ms',
      [
        { name: 'mean', of: 'mean' },
        { name: 'p50', of: 'p50' },
        { name: 'p99', of: 'p99' },
      ],
      points,
    ),
    chart('Batch size', 'rows', [{ name: '', of: 'batch' }], points),
  );
}
