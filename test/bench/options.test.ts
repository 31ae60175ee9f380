import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultPage, needs, readOptions, wants } from '../../bench/options.js';

test('without arguments everything runs, with the same threads for everybody', () => {
  const options = readOptions([]);
  assert.equal(options.loads, 'chosen');
  assert.equal(options.html, undefined);
  assert.equal(options.threading, 'equal');
  assert.equal(options.rounds, 5);
  assert.equal(options.windowMs, 500);
  assert.ok(options.threads >= 1);
  assert.ok(wants(options, 'add') && wants(options, 'delay'));
});

test('--only chooses models, in one list or several', () => {
  const options = readOptions(['--only', 'add,mlp', '--only', 'conv']);
  assert.deepEqual(options.only, ['add', 'mlp', 'conv']);
  assert.equal(wants(options, 'digits'), false);
});

test('--html takes a path or not, and runs every power of two unless --quick is said', () => {
  assert.equal(readOptions(['--html', 'page.html', '--json']).html, 'page.html');
  const options = readOptions(['--html', '--json']);
  assert.equal(options.html, defaultPage);
  assert.equal(options.json, true);
  assert.equal(options.loads, 'sweep');
  assert.equal(readOptions(['--quick', '--html']).loads, 'quick');
});

test('the delay needs its models open, and not their loads', () => {
  const options = readOptions(['--only', 'delay']);
  for (const name of ['text-32', 'add']) {
    assert.equal(wants(options, name), false);
    assert.equal(needs(options, name), true);
  }
  assert.equal(needs(options, 'mlp'), false);
});

test('what it does not know is refused with what it knows', () => {
  assert.throws(() => readOptions(['--only', 'ad']), /--only takes add, .*delay, strings, weights, not 'ad'/);
  assert.throws(() => readOptions(['--rounds', '0']), /--rounds takes a whole number of at least 1, not '0'/);
  assert.throws(() => readOptions(['--fast']), /--fast/);
});
