import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served, withoutServer, type Classifier } from '../../examples/digits/classifiers.js';
import { classifyAll, compare, countRight } from '../../examples/digits/compare.js';
import { modelRepository, readHeldOutDigits, type Digit } from '../../examples/digits/data.js';
import {
  comparisonTable,
  freeLoopSentence,
  histogramLines,
  modelTimeLine,
} from '../../examples/digits/print.js';
import { createServer } from '../../src/index.js';

const digits = readHeldOutDigits().slice(0, 24);

for (const name of ['digits', 'digits_conv']) {
  test(`${name} gives the same answers served, called directly and batched by hand`, async () => {
    const server = await createServer(modelRepository);
    const alone = await withoutServer(name, 1, 4);
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

test('a caller asks for its next image when it has the answer for the last', async () => {
  let under = 0;
  let most = 0;
  const asked = new Set<Digit>();
  const classify = async (digit: Digit): Promise<number> => {
    asked.add(digit);
    most = Math.max(most, ++under);
    await new Promise(setImmediate);
    under -= 1;
    return 0;
  };
  // Each caller makes at least one request, however slow the machine is.
  await compare([{ name: 'one', classify }], digits.slice(0, 5), { callers: 7, rounds: 1, turnMs: 1 });
  assert.equal(most, 7);
  assert.equal(asked.size, 5);
});

test('the model alone is timed, and what it allows is said', async () => {
  const alone = await withoutServer('digits', 1, 4);
  try {
    assert.ok((await alone.modelTime(digits.slice(0, 4))) > 0);
  } finally {
    await alone.close();
  }
  assert.match(
    modelTimeLine(0.5, 1, 4),
    /0\.50 ms for one image, and 1\.00 ms for a batch of 4: at most 4,000 images/,
  );
});

test('a comparison has a row for each classifier, in order', async () => {
  const fixed = (name: string): Classifier => ({ name, classify: () => Promise.resolve(0) });
  const rows = await compare([fixed('one'), fixed('two')], digits, { callers: 3, rounds: 2, turnMs: 2 });
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['one', 'two'],
  );
  for (const { requestsPerSecond, p50, p99 } of rows) {
    assert.ok(requestsPerSecond > 0);
    assert.ok(p50 <= p99);
  }
});

test('only right answers count', () => {
  const labels = digits.map(({ label }) => label);
  assert.equal(countRight(labels, digits), 24);
  assert.equal(countRight([NaN, ...labels.slice(1)], digits), 23);
});

test('the tables show names, rates and batches', () => {
  const row = {
    name: 'tritonts',
    requestsPerSecond: 12_345,
    p50: 1,
    p99: 3,
    lateP50: 0.1,
    lateP99: 0.5,
    longestStall: 1.5,
  };
  assert.match(comparisonTable([row]), /tritonts +12,345 +1\.00 +3\.00 +1\.50 ms/);
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
