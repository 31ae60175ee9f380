/** Signals of the calls that models make. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { abortSignalOf, CallSignal, joinSignals } from '../src/call-signal.js';
import { deadlineIn, withDeadline } from '../src/dispatch/ending/deadlines.js';

test('it calls each listener once when it fires, and those that were removed not at all', () => {
  const signal = new CallSignal();
  const calls: string[] = [];
  const listeners = ['a', 'b', 'c'].map((name) => (): void => void calls.push(name));
  for (const listener of listeners) {
    signal.addEventListener('abort', listener);
    signal.addEventListener('abort', listener);
  }
  const [first, second] = listeners;
  assert.ok(first && second);
  signal.removeEventListener('abort', first);
  signal.removeEventListener('abort', second);
  signal.addEventListener('abort', first);
  assert.equal(signal.aborted, false);
  assert.equal(signal.reason, undefined);
  signal.abort();
  signal.abort();
  assert.deepEqual(calls.sort(), ['a', 'c']);
  assert.equal(signal.aborted, true);
  signal.addEventListener('abort', second);
  assert.deepEqual(calls, ['a', 'c']);
});

test('its reason is that of an AbortController, and it can be one of several signals', () => {
  const signal = new CallSignal();
  const any = AbortSignal.any([new AbortController().signal, abortSignalOf(signal)]);
  signal.abort();
  assert.ok(any.aborted);
  assert.equal(any.reason, signal.reason);
  const controller = new AbortController();
  controller.abort();
  const { name, message } = controller.signal.reason as DOMException;
  const own = signal.reason as DOMException;
  assert.deepEqual([own.name, own.message], [name, message]);
  assert.ok(abortSignalOf(signal).aborted);
  assert.equal(abortSignalOf(controller.signal), controller.signal);
});

test('a listener that is added twice around a removal of another one is called once', () => {
  const signal = new CallSignal();
  const calls: string[] = [];
  const [first, second] = ['a', 'b'].map((name) => (): void => void calls.push(name));
  assert.ok(first && second);
  signal.addEventListener('abort', first);
  signal.addEventListener('abort', second);
  signal.removeEventListener('abort', first);
  signal.addEventListener('abort', second);
  signal.abort();
  assert.deepEqual(calls, ['b']);
});

test('a listener that throws does not keep the others from being called', async (t) => {
  const signal = new CallSignal();
  let calls = 0;
  const fault = new Error('thrown by a listener');
  const uncaught = new Promise<unknown>((resolve) => {
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.once('uncaughtException', resolve);
    t.after(() => {
      for (const listener of before) process.on('uncaughtException', listener);
    });
  });
  signal.addEventListener('abort', () => {
    throw fault;
  });
  signal.addEventListener('abort', () => void calls++);
  signal.abort();
  assert.equal(calls, 1);
  assert.equal(await uncaught, fault);
});

test('it has one AbortSignal, however often it is asked for', () => {
  const signal = new CallSignal();
  assert.equal(abortSignalOf(signal), abortSignalOf(signal));
});

test('signals that are joined fire with the first one, and have its reason', () => {
  const own = new AbortController();
  const signal = new CallSignal();
  const joined = joinSignals(signal, own.signal);
  let calls = 0;
  joined.addEventListener('abort', () => void calls++);
  assert.equal(joined.aborted, false);
  assert.equal(joined.reason, undefined);
  own.abort('enough');
  assert.deepEqual([calls, joined.aborted, joined.reason], [1, true, 'enough']);
  signal.abort();
  assert.deepEqual([calls, joined.reason === signal.reason], [1, true]);
  joined.addEventListener('abort', () => void calls++);
  assert.equal(calls, 1);
});

test('calls that have ended leave nothing in the signals of their request and their caller', (t) => {
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warn);
  t.after(() => process.off('warning', warn));
  const signal = new CallSignal();
  const own = new AbortController();
  const listener = (): void => undefined;
  const many = Array.from({ length: 100 }, () => withDeadline(joinSignals(signal, own.signal), 60_000));
  for (const one of many) one?.addEventListener('abort', listener);
  assert.ok(signal.isHeard);
  for (const one of many) one?.removeEventListener('abort', listener);
  assert.equal(signal.isHeard, false);
  assert.deepEqual(getEventListeners(own.signal, 'abort'), []);
  assert.deepEqual(getEventListeners(deadlineIn(60_000), 'abort'), []);
  assert.deepEqual(warnings, []);
});
