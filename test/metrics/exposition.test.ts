import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '../../src/slices.js';
import { Exposition, labelsAround, labelText, numberText } from '../../src/metrics/exposition.js';

test('labels stand in the order of their names, their values escaped', () => {
  const labels = { version: '1', model: 'a "b"\\c\nd', _team: 'x' };
  assert.equal(labelText(labels), String.raw`{_team="x",model="a \"b\"\\c\nd",version="1"}`);
  assert.equal(labelText({}), '');
});

test('a label that is put in later stands where it belongs', () => {
  const labels = { model: 'm', version: '1' };
  assert.equal(labelsAround(labels, 'le')('0.5'), '{le="0.5",model="m",version="1"}');
  assert.equal(labelsAround(labels, 'reason')('OTHER'), '{model="m",reason="OTHER",version="1"}');
  assert.equal(labelsAround(labels, 'zone')('z"'), String.raw`{model="m",version="1",zone="z\""}`);
  assert.equal(labelsAround({}, 'le')('1'), '{le="1"}');
});

test('numbers', () => {
  assert.deepEqual([0, 2.5, 1e21, Infinity, -Infinity].map(numberText), [
    '0',
    '2.5',
    '1e+21',
    '+Inf',
    '-Inf',
  ]);
});

test('a family without a series prints nothing', () => {
  const text = new Exposition();
  text.family('empty', 'counter', 'Nothing');
  text.family('used', 'gauge', 'One\nline \\');
  text.add('used', '', 3);
  assert.equal(atOnce(text.text()), '# HELP used One\\nline \\\\\n# TYPE used gauge\nused 3\n');
});

test('the classes of a histogram are summed up', () => {
  const text = new Exposition();
  text.family('h', 'histogram', 'H');
  text.addHistogram('h', { a: 'b' }, [1, 2.5], [3, 0, 4], 12.5);
  assert.equal(
    atOnce(text.text()),
    [
      '# HELP h H',
      '# TYPE h histogram',
      'h_bucket{a="b",le="1"} 3',
      'h_bucket{a="b",le="2.5"} 3',
      'h_bucket{a="b",le="+Inf"} 7',
      'h_count{a="b"} 7',
      'h_sum{a="b"} 12.5',
      '',
    ].join('\n'),
  );
});
