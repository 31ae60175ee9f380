import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { HandBatcher } from '../../bench/contestants/by-hand.js';
import type { Caller } from '../../bench/contestants/contestant.js';
import { openDirect } from '../../bench/contestants/direct.js';
import { checkAnswers } from '../../bench/contestants/open.js';
import { openPiscina, threadsOfWorker } from '../../bench/contestants/piscina.js';
import { openSession } from '../../bench/contestants/session.js';
import { openTritonts } from '../../bench/contestants/tritonts.js';
import { configOf, models } from '../../bench/measuring/models.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const tensors = { input: 'x', output: 'y', type: 'float32', itemDims: [16] } as const;
const items = Array.from({ length: 5 }, (_, i) => new Float32Array(16).fill(i));

const add = models.find(({ name }) => name === 'add');
assert.ok(add);
const config = configOf(add, 'FP32');

test('contestants give the same answers', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    add: { config, versions: { '1': addModel() } },
  });
  const path = join(folder, 'add', '1', 'model.onnx');
  const ours = await openTritonts('tritonts', folder, 'add', { input: 'x', output: 'y' }, items, 1);
  t.after(() => ours.close());
  const off = await openTritonts(
    'tritonts, inline off',
    folder,
    'add',
    { input: 'x', output: 'y' },
    items,
    1,
  );
  t.after(() => off.close());
  const session = await openSession(path, 1);
  t.after(() => session.release());
  const pool = openPiscina(path, tensors, items, 2);
  t.after(() => pool.close());
  await checkAnswers([ours, off, openDirect(session, tensors, items), pool]);
  assert.deepEqual(ours.read(await ours.infer(2)), new Float32Array(16).fill(3));
  assert.ok((ours.batches?.().size ?? 0) > 0);
});

test('a contestant that answers something else is found out', async () => {
  const answering = (value: number): Caller => ({
    kind: 'caller',
    name: 'piscina',
    infer: () => Promise.resolve(),
    read: () => Float32Array.of(value),
    close: () => Promise.resolve(),
  });
  await checkAnswers([answering(1), answering(1.0001)]);
  await assert.rejects(checkAnswers([answering(1), answering(2)]), /different answers for item 0/);
});

test('the batcher made by hand runs the requests of a tick together, at most so many', async (t) => {
  const session = await openSession(await addFile(t), 1);
  t.after(() => session.release());
  const batcher = new HandBatcher<Float32Array>(session, tensors, 4, (length) => new Float32Array(length));
  const answers = await Promise.all(items.map((item) => batcher.infer(item)));
  assert.deepEqual(
    answers,
    items.map((item) => item.map((value) => value + 1)),
  );
  assert.deepEqual(
    batcher.batches,
    new Map([
      [4, 1],
      [1, 1],
    ]),
  );
});

test('a run that fails fails all requests of its batch', async (t) => {
  const session = await openSession(await addFile(t), 1);
  t.after(() => session.release());
  const wrong = { ...tensors, input: 'z' };
  const batcher = new HandBatcher<Float32Array>(session, wrong, 4, (length) => new Float32Array(length));
  const outcomes = await Promise.allSettled(items.map((item) => batcher.infer(item)));
  assert.ok(outcomes.every(({ status }) => status === 'rejected'));
});

test('the workers share the threads that one contestant has elsewhere', () => {
  assert.equal(threadsOfWorker(8), 4);
  assert.equal(threadsOfWorker(1), 1);
  assert.equal(threadsOfWorker(undefined), undefined);
});

async function addFile(t: Parameters<typeof temporaryFolder>[0]): Promise<string> {
  const folder = await writeRepository(await temporaryFolder(t), { add: { versions: { '1': addModel() } } });
  return join(folder, 'add', '1', 'model.onnx');
}
