import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyText, resolveKey, sameKey } from '../src/model-key.js';
import { ModelKeyMap } from '../src/model-key-map.js';
import { thrown } from './support/harness.js';

test('a key shows its namespace unless that is the default one', () => {
  assert.equal(keyText({ namespace: '', name: 'm' }), 'm');
  assert.equal(keyText({ namespace: 'models/a', name: 'm' }), 'models/a::m');
});

test('keys are the same where both parts are', () => {
  const key = { namespace: 'a', name: 'm' };
  assert.ok(sameKey(key, { namespace: 'a', name: 'm' }));
  assert.ok(!sameKey(key, { namespace: 'b', name: 'm' }));
  assert.ok(!sameKey(key, { namespace: 'a', name: 'n' }));
});

test('a name means the model of the own namespace, else the only one', () => {
  assert.equal(resolveKey('m', []), undefined);
  assert.equal(resolveKey('m', [], 'a'), undefined);
  assert.deepEqual(resolveKey('m', ['b']), { namespace: 'b', name: 'm' });
  assert.deepEqual(resolveKey('m', ['b'], 'a'), { namespace: 'b', name: 'm' });
  assert.deepEqual(resolveKey('m', ['a', 'b'], 'b'), { namespace: 'b', name: 'm' });
  assert.deepEqual(resolveKey('m', ['', 'b'], ''), { namespace: '', name: 'm' });
});

test('a name of several other namespaces is refused with these', () => {
  const text =
    "There are 2 identifiers of model 'm' in global map, model namespace must be provided to resolve ambiguity. The namespaces are '', 'b'.";
  for (const own of [undefined, 'c']) {
    const error = thrown(() => resolveKey('m', ['', 'b'], own));
    assert.deepEqual([error.code, error.model, error.message], ['INVALID_ARG', 'm', text]);
  }
});

test('a map has a value for each namespace of a name', () => {
  const map = new ModelKeyMap<number>();
  const [a, b, other] = [
    { namespace: 'a', name: 'm' },
    { namespace: 'b', name: 'm' },
    { namespace: 'a', name: 'n' },
  ];
  map.set(b, 2);
  map.set(a, 1);
  map.set(other, 3);
  map.set({ ...b }, 4);
  assert.deepEqual([map.get({ ...a }), map.get(b), map.get(other)], [1, 4, 3]);
  assert.equal(map.get({ namespace: '', name: 'm' }), undefined);
  assert.deepEqual(map.namespacesOf('m'), ['a', 'b']);
  assert.deepEqual(map.valuesOf('m'), [1, 4]);
  assert.deepEqual([...map.names()].sort(), ['m', 'n']);
  assert.deepEqual([...map.values()].sort(), [1, 3, 4]);
  assert.ok(map.delete(a));
  assert.ok(!map.delete(a));
  assert.deepEqual(map.namespacesOf('m'), ['b']);
  assert.ok(map.delete(b));
  assert.deepEqual([...map.names()], ['n']);
  assert.deepEqual([map.namespacesOf('m'), map.valuesOf('m')], [[], []]);
});
