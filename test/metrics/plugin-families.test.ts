import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Exposition } from '../../src/metrics/exposition.js';
import { addPlugins } from '../../src/metrics/plugin-families.js';
import { atOnce } from '../../src/slices.js';

function shown(json: unknown): string {
  const text = new Exposition();
  text.family('own', 'gauge', 'The server has it');
  text.add('own', '', 1);
  atOnce(addPlugins(text, JSON.stringify(json)));
  return atOnce(text.text());
}

test('families of plug-ins are written as those of the server', () => {
  const series = { labels: { a: 'x' }, bounds: [], counts: [0] };
  assert.equal(
    shown([
      { name: 'jobs', help: 'Jobs', type: 'counter', series: [{ ...series, value: 2.5 }] },
      {
        name: 'level',
        help: 'L',
        type: 'gauge',
        series: [
          { ...series, value: 'NaN' },
          { ...series, labels: {}, value: '-Inf' },
        ],
      },
      {
        name: 'sizes',
        help: 'S',
        type: 'histogram',
        series: [{ labels: {}, bounds: [1, 10], counts: [2, 1, 1], value: 106.5 }],
      },
    ]),
    `# HELP own The server has it
# TYPE own gauge
own 1
# HELP jobs Jobs
# TYPE jobs counter
jobs{a="x"} 2.5
# HELP level L
# TYPE level gauge
level{a="x"} NaN
level -Inf
# HELP sizes S
# TYPE sizes histogram
sizes_bucket{le="1"} 2
sizes_bucket{le="10"} 3
sizes_bucket{le="+Inf"} 4
sizes_count 4
sizes_sum 106.5
`,
  );
});

test('a family whose name the server has is left out', () => {
  const series = [{ labels: {}, bounds: [], counts: [0], value: 9 }];
  assert.equal(
    shown([{ name: 'own', help: 'Other', type: 'gauge', series }]),
    '# HELP own The server has it\n# TYPE own gauge\nown 1\n',
  );
});
