import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultsArguments } from '../../bench/defaults.js';
import { models, type BenchModel } from '../../bench/measuring/models.js';
import { defaultPage, loadsOf, needs, readOptions, wants, windowOf } from '../../bench/options.js';

function modelOf(name: string): BenchModel {
  const model = models.find((entry) => entry.name === name);
  assert.ok(model, `${name} is no model`);
  return model;
}

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
    assert.deepEqual(loadsOf(options, modelOf(name)), []);
    assert.equal(needs(options, modelOf(name)), true);
  }
  assert.equal(needs(options, modelOf('mlp')), false);
});

test('a quick run opens no model without a required figure', () => {
  const quick = readOptions(['--quick']);
  const opened = models.filter((model) => needs(quick, model)).map(({ name }) => name);
  assert.deepEqual(opened, ['add', 'mlp', 'text-8', 'text-32', 'conv', 'identity']);
  assert.deepEqual(loadsOf(quick, modelOf('mlp')), [64, 128]);
  assert.throws(() => readOptions(['--quick', '--only', 'mlp,digits']), /no loads of digits/);
});

test('a turn holds several batches of slow models, whatever the window', () => {
  const quick = readOptions(['--quick']);
  assert.equal(windowOf(quick, modelOf('add')), 100);
  assert.equal(windowOf(quick, modelOf('text-32')), 400);
  assert.equal(windowOf(readOptions([]), modelOf('text-32')), 500);
});

test("everybody's defaults come as a second part of a whole run only", () => {
  assert.equal(readOptions([]).defaultsToo, true);
  assert.equal(readOptions(['--html', '--threads', '1']).defaultsToo, true);
  for (const less of [['--quick'], ['--only', 'add'], ['--defaults']]) {
    assert.equal(readOptions(less).defaultsToo, false, less.join(' '));
  }
});

test('the second part is measured as the first one, under the required loads', () => {
  const second = readOptions(defaultsArguments(readOptions(['--rounds', '7', '--window', '300'])));
  assert.equal(second.threading, 'defaults');
  assert.equal(second.loads, 'quick');
  assert.equal(second.rounds, 7);
  assert.equal(second.windowMs, 300);
  assert.equal(second.json, true);
  assert.equal(second.defaultsToo, false);
  assert.ok(wants(second, 'conv'));
  for (const part of [
    'digits',
    'cache',
    'delay',
    'ensembles',
    'forms',
    'javascript',
    'metrics',
    'python',
    'queues',
    'ragged',
    'sequences',
    'shared-memory',
    'streams',
    'strings',
    'traces',
    'warmup',
    'weights',
  ])
    assert.equal(wants(second, part), false, part);
});

test('threads are either said or left to everybody', () => {
  assert.throws(() => readOptions(['--defaults', '--threads', '2']), /not with --threads/);
});

test('what it does not know is refused with what it knows', () => {
  assert.throws(
    () => readOptions(['--only', 'ad']),
    /--only takes add, .*cache, delay, ensembles, forms, javascript, metrics, native, plugins, python, queues, ragged, sequences, shared-memory, streams, strings, traces, warmup, weights, not 'ad'/,
  );
  assert.throws(() => readOptions(['--rounds', '0']), /--rounds takes a whole number of at least 1, not '0'/);
  assert.throws(() => readOptions(['--fast']), /--fast/);
});
