/** The example `examples/streaming-text`: texts that are written letter by letter, several at a time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../support/harness.js';
import { lines, mostAtATime, serveWriter, write, writeWhole } from '../../examples/streaming-text/serve.js';

test('texts of more callers than slots are right, and leave no sequence', async (t) => {
  const server = await serveWriter();
  t.after(() => server.close());
  const asked = Array.from({ length: mostAtATime + 4 }, (_, i) => i % lines.length);
  const texts = await Promise.all(asked.map((line) => writeWhole(server, line)));
  assert.deepEqual(
    texts,
    asked.map((line) => lines[line]),
  );
  assert.ok(
    server.explain('reciter').batches.some(({ size }) => size > 1),
    'letters of several texts are one batch',
  );
  for (const model of ['writer', 'reciter']) {
    assert.equal(server.explain(model).sequences?.begun, asked.length);
    // Its slots are free again.
    await until(() => server.explain(model).sequences?.live === 0);
  }
});

test('texts of a model with many weights are right', async (t) => {
  const server = await serveWriter(256);
  t.after(() => server.close());
  const texts = await Promise.all(lines.map((_, line) => writeWhole(server, line)));
  assert.deepEqual(texts, lines);
});

test('two callers get their letters in turn', async (t) => {
  const server = await serveWriter();
  t.after(() => server.close());
  const order: number[] = [];
  const follow = async (line: number): Promise<void> => {
    for await (const _ of write(server, line)) order.push(line);
  };
  await Promise.all([follow(0), follow(1)]);
  const firstOf = (line: number): number => order.indexOf(line);
  const lastOf = (line: number): number => order.lastIndexOf(line);
  assert.ok(firstOf(0) < lastOf(1) && firstOf(1) < lastOf(0), 'the texts are written at the same time');
});
