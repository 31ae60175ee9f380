import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { invalidArgument, TritonError } from '../src/errors.js';
import { temporaryFolder } from './support/repository.js';

test('an error has its code, its message and the name of its class', () => {
  const error = new TritonError('NOT_FOUND', 'no such thing');
  assert.equal(error.code, 'NOT_FOUND');
  assert.equal(error.message, 'no such thing');
  assert.equal(error.name, 'TritonError');
  assert.ok(String(error.stack).startsWith('TritonError: no such thing\n'));
  assert.ok(error instanceof Error);
});

test('what an error does not know it does not have', () => {
  assert.deepEqual(Object.keys(new TritonError('INTERNAL', 'x')), ['code']);
  assert.equal('cause' in new TritonError('INTERNAL', 'x', { model: 'm' }), false);
});

test('an error keeps its cause, model, tensor and location', () => {
  const cause = new Error('underneath');
  const location = { file: 'config.pbtxt', line: 3, field: 'input[0].dims' };
  const error = new TritonError('INVALID_ARG', 'x', { cause, model: 'm', tensor: 't', location });
  assert.equal(error.cause, cause);
  assert.deepEqual([error.model, error.tensor, error.location], ['m', 't', location]);
});

test('an undefined cause is a cause', () => {
  const error = new TritonError('CANCELLED', 'x', { cause: undefined });
  assert.equal('cause' in error, true);
});

test('other values are no TritonErrors', () => {
  for (const value of [new Error('x'), { code: 'INTERNAL' }, null, undefined, 'INTERNAL', () => 0]) {
    assert.equal(value instanceof TritonError, false);
  }
});

test('instanceof holds across copies of the package', async (t) => {
  const folder = await temporaryFolder(t);
  await cp(fileURLToPath(new URL('../src', import.meta.url)), join(folder, 'src'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const copy = (await import(pathToFileURL(join(folder, 'src/errors.js')).href)) as {
    TritonError: typeof TritonError;
  };
  assert.notEqual(copy.TritonError, TritonError);
  assert.ok(new copy.TritonError('INTERNAL', 'x') instanceof TritonError);
  assert.ok(new TritonError('INTERNAL', 'x') instanceof copy.TritonError);
});

test('invalidArgument makes an INVALID_ARG error', () => {
  const error = invalidArgument('expected this but received that', { model: 'm' });
  assert.deepEqual(
    [error.code, error.message, error.model],
    ['INVALID_ARG', 'expected this but received that', 'm'],
  );
});
