import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { TritonError, type InferenceServer } from '../../src/index.js';
import { rejection, start } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import type { Reason } from './case.js';
import { needGpu, refused } from './refused.js';
import { laidOut, names } from './repository.js';
import { askOnce } from './request-for.js';
import { served } from './served.js';

const repository = await writeRepository(
  await temporaryFolder({ after }),
  Object.fromEntries(names.map((name) => [name, laidOut(name, served[name] ?? refused[name] ?? {})])),
);
// The mode is explicit, so that each failed model can be loaded again to get its reason.
const server = await start({ after }, repository, {
  exitOnError: false,
  modelControlMode: 'explicit',
  loadModels: ['*'],
});

test('there are at least forty configurations, and each is expected to do something', () => {
  const expected = [...Object.keys(served), ...Object.keys(refused), ...Object.keys(needGpu)].sort();
  assert.deepEqual(expected, [...names]);
  assert.ok(names.length >= 40);
});

for (const [name, expected] of Object.entries(served)) {
  const { versions = [1], notes = [], config = {} } = expected;
  test(`${name} loads and answers`, async () => {
    assert.deepEqual(
      indexOf(server, name),
      versions.map((version) => ({ name, version: String(version), state: 'READY' })),
    );
    const model = server.model(name);
    assert.deepEqual(
      model.notes.map((note) => note.slice(0, note.indexOf(': '))),
      notes,
    );
    for (const [path, value] of Object.entries(config)) assert.deepEqual(at(model.config, path), value, path);
    await askOnce(server, name);
  });
}

for (const [name, { reasons }] of Object.entries(refused)) {
  test(`${name} does not load: ${reasons.map(({ text }) => text).join('; ')}`, async () => {
    const error = await rejection(server.loadModel(name));
    assertReasons(error, reasons);
    const index = indexOf(server, name);
    assert.ok(index.length > 0);
    for (const { state, reason } of index) {
      assert.equal(state, 'UNAVAILABLE');
      assert.equal(reason, error.message);
    }
  });
}

const onCpu = await start({ after }, repository, {
  exitOnError: false,
  modelControlMode: 'explicit',
  loadModels: Object.keys(needGpu),
  instanceKind: 'cpu',
});

for (const [name, line] of Object.entries(needGpu)) {
  test(`${name} loads without a GPU only with instanceKind 'cpu'`, async (t) => {
    if (server.model(name).ready) {
      t.skip('this machine has a GPU and a runtime that uses it');
      return;
    }
    const error = await rejection(server.loadModel(name));
    assert.ok(error.code === 'INVALID_ARG' || error.code === 'UNAVAILABLE', error.code);
    assert.match(error.message, /instanceKind: 'cpu'/);
    assert.equal(error.location?.line, line);
    assert.deepEqual(indexOf(onCpu, name), [{ name, version: '1', state: 'READY' }]);
    await askOnce(onCpu, name);
  });
}

test('classes of text_classifier bear the names of its label file', async () => {
  const ids = { data: new BigInt64Array(4), shape: [1, 4] };
  const { outputs } = await server.infer(
    'text_classifier',
    { input_ids: ids, attention_mask: ids },
    { outputs: [{ name: 'logits', classification: 2 }] },
  );
  assert.deepEqual(outputs['logits']?.strings(), ['0.000000:0:negative', '0.000000:1:neutral']);
});

function indexOf(from: InferenceServer, name: string): ReturnType<InferenceServer['index']> {
  return from.index().filter((entry) => entry.name === name);
}

function assertReasons(error: TritonError, reasons: readonly Reason[]): void {
  const parts: unknown[] = error.cause instanceof AggregateError ? error.cause.errors : [error];
  const found = parts.map((part) => {
    assert.ok(part instanceof TritonError);
    const { code, message, location } = part;
    return { code, message, ...(location && { at: { line: location.line, field: location.field } }) };
  });
  const shown = JSON.stringify(found, undefined, 2);
  assert.equal(found.length, reasons.length, shown);
  for (const [index, { text, ...reason }] of reasons.entries()) {
    const { message = '', ...rest } = found[index] ?? {};
    assert.deepEqual(rest, reason, shown);
    assert.ok(message.includes(text), `${message} does not say: ${text}`);
  }
}

/** The value at a dotted path. */
function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (part, key) =>
        typeof part === 'object' && part !== null ? (part as Record<string, unknown>)[key] : undefined,
      value,
    );
}
