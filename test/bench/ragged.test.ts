import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runTexts, serveTexts, textsLoad, textsOf, ways, type TextsLoad } from '../../bench/limits/ragged.js';
import { floats } from '../support/harness.js';
import { unequalLengths } from '../support/models.js';

const small: TextsLoad = {
  outstanding: 8,
  maxBatchSize: 8,
  sizes: { layers: 1, width: 8, heads: 2, vocabulary: 32, maxTokens: 128 },
  lengths: unequalLengths(16),
};

test('the texts are short and long, and 32 tokens on average', () => {
  const { lengths } = textsLoad;
  assert.ok(lengths.every((length) => length >= 8 && length <= 128));
  assert.equal(Math.round(lengths.reduce((sum, length) => sum + length, 0) / lengths.length), 32);
  assert.ok(new Set(lengths).size > 30);
});

test('every way to send texts has the same results, and is measured', async (t) => {
  const server = await serveTexts(small);
  t.after(() => server.close());
  const results = [];
  for (const way of ways) {
    const model = server.model(way);
    const all = await Promise.all(textsOf(way, small).map((input_ids) => model.infer({ input_ids })));
    results.push(all.flatMap((result) => floats(result, 'embedding')));
    const { perSecond, meanBatch } = await runTexts(server, way, small, 20);
    assert.ok(perSecond > 0);
    assert.ok(meanBatch >= 1 && meanBatch <= 8);
  }
  const [ragged, ...others] = results;
  assert.ok(ragged !== undefined && ragged.every(Number.isFinite));
  for (const other of others) {
    assert.equal(other.length, ragged.length);
    assert.ok(other.every((value, i) => Math.abs(value - (ragged[i] ?? NaN)) < 1e-4));
  }
});
