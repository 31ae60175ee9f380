import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served, withoutServer, type Classifier } from '../../examples/digits/classifiers.js';
import { classifyAll, compare, countRight } from '../../examples/digits/compare.js';
import { modelRepository, readHeldOutDigits } from '../../examples/digits/data.js';
import { comparisonTable, freeLoopSentence, histogramLines } from '../../examples/digits/print.js';
import { createServer } from '../../src/index.js';

const digits = readHeldOutDigits().slice(0, 24);

for (const name of ['digits', 'digits_conv']) {
  test(`${name} gives the same answers served, called directly and batched by hand`, async () => {
    const server = await createServer(modelRepository);
    const alone = await withoutServer(name, 1, 16);
    try {
      const answers = await classifyAll(served(server.model(name)), digits);
      assert.ok(countRight(answers, digits) >= 23);
      for (const classifier of alone.classifiers) {
        assert.deepEqual(await classifyAll(classifier, digits), answers, classifier.name);
      }
    } finally {
      await alone.close();
      await server.close();
    }
  });
}

test('a comparison has a row for each classifier, in order', async () => {
  const fixed = (name: string): Classifier => ({ name, classify: () => Promise.resolve(0) });
  const rows = await compare([fixed('one'), fixed('two')], digits, { rounds: 2, turnMs: 2 });
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['one', 'two'],
  );
  for (const { requestsPerSecond, p50, p95, p99 } of rows) {
    assert.ok(requestsPerSecond > 0);
    assert.ok(p50 <= p95 && p95 <= p99);
  }
});

test('only right answers count', () => {
  const labels = digits.map(({ label }) => label);
  assert.equal(countRight(labels, digits), 24);
  assert.equal(countRight([NaN, ...labels.slice(1)], digits), 23);
});

test('the tables show names, rates and batches', () => {
  const row = { name: 'tritonts', requestsPerSecond: 12_345, p50: 1, p95: 2, p99: 3, longestStall: 1.5 };
  assert.match(comparisonTable([row]), /tritonts +12,345 +1\.00 +2\.00 +3\.00 +1\.50 ms/);
  assert.equal(
    histogramLines(
      new Map([
        [64, 40],
        [8, 1],
      ]),
    ),
    `    8 images  # 1\n   64 images  ${'#'.repeat(40)} 40`,
  );
  assert.match(freeLoopSentence([row]), /waited longer than 1\.50 ms/);
  assert.match(freeLoopSentence([row, { ...row, longestStall: 370 }]), /kept the event loop for 370 ms/);
});
