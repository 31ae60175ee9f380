import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nativeError, statusError } from '../../src/addon/status.js';
import { datatypeNumber } from '../../src/tensor/datatype.js';
import { enumOf, header } from './native-headers.js';

/** Turns kInvalidArg into INVALID_ARG. */
function codeName(member: string): string {
  return member.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}

test('codes have the numbers of native/engine/base/status.h', async () => {
  const { Ok, ...codes } = enumOf(await header('base/status.h'), 'Code');
  assert.equal(Ok, 0);
  assert.equal(Object.keys(codes).length, 8);
  for (const [member, number] of Object.entries(codes)) {
    assert.equal(nativeError(number, 'x').code, codeName(member));
  }
});

test('datatypes have the numbers of native/engine/base/datatype.h', async () => {
  const { Invalid, ...datatypes } = enumOf(await header('base/datatype.h'), 'DataType');
  assert.equal(Invalid, 0);
  const native = Object.entries(datatypes).map(([member, number]) => [member.toUpperCase(), number]);
  assert.deepEqual(Object.fromEntries(native), datatypeNumber);
});

test('a code that nobody knows is UNKNOWN', () => {
  assert.equal(nativeError(99, 'x').code, 'UNKNOWN');
});

test('a status becomes an error with its message, and what else is known', () => {
  const error = statusError({ code: 3, message: 'gone' }, { model: 'm' });
  assert.deepEqual([error.code, error.message, error.model], ['NOT_FOUND', 'gone', 'm']);
});
