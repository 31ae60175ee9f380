/** The rules of trace settings, without an engine. */

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import type { NativeTraceSetting } from '../../../src/addon/native/trace.js';
import { TraceSettings } from '../../../src/server/trace/trace-settings.js';
import { checkTraceConfig, type TraceConfig } from '../../../src/trace-config.js';
import { thrown } from '../../support/harness.js';

const timestamps = { timestamps: true, tensors: false };
const off = { timestamps: false, tensors: false };

/** What the engine was told, one entry a call. */
type Told = [model: string, setting: NativeTraceSetting | null];

function settingsOf(config: TraceConfig): { settings: TraceSettings; told: Told[] } {
  const told: Told[] = [];
  const settings = new TraceSettings(checkTraceConfig(config, '/base'), {
    setTrace: (...call) => told.push(call),
  });
  return { settings, told };
}

/** The last call for a model, as pairs of what matters. */
function lastOf(told: readonly Told[], model: string): NativeTraceSetting | null | undefined {
  return told.findLast(([name]) => name === model)?.[1];
}

test('without a level nothing is told, and nothing is on', () => {
  const { settings, told } = settingsOf({ file: 't.json', rate: 3 });
  assert.equal(settings.isOn, false);
  settings.update(undefined, { rate: 5 });
  assert.deepEqual(told, []);
  assert.equal(settings.of(undefined).rate, 5);
});

test('what the server begins with is told, with the path of the file', () => {
  const { settings, told } = settingsOf({
    level: ['TIMESTAMPS', 'TENSORS'],
    file: 't.json',
    rate: 2,
    count: 7,
  });
  assert.equal(settings.isOn, true);
  const file = resolve('/base', 't.json');
  const first = { timestamps: true, tensors: true, rate: 2, count: 7, file, logFrequency: 0, spans: false };
  assert.deepEqual(told, [['', first]]);
});

test("a model's own settings stay, and the others follow those of all", () => {
  const { settings, told } = settingsOf({ level: 'TIMESTAMPS', file: 't.json' });
  settings.update('m', { rate: 7 });
  assert.equal(lastOf(told, 'm')?.rate, 7);
  settings.update(undefined, { rate: 2, logFrequency: 9 });
  assert.deepEqual([settings.of('m').rate, settings.of('m').logFrequency], [7, 9]);
  assert.deepEqual([settings.of('other').rate, lastOf(told, '')?.rate, lastOf(told, 'm')?.rate], [2, 2, 7]);
  assert.equal(lastOf(told, 'm')?.logFrequency, 9);
  settings.update('m', { rate: null });
  assert.deepEqual(told.at(-1), ['m', null], 'it follows in everything again');
  assert.equal(settings.of('m').rate, 2);
  settings.update('m', { rate: null });
  assert.equal(told.filter(([name]) => name === 'm').at(-1)?.[1], null);
});

test('a model with all settings of its own is not told of those of all', () => {
  const { settings, told } = settingsOf({ level: 'TIMESTAMPS', file: 't.json' });
  settings.update('m', { level: timestamps, rate: 1, count: 5, logFrequency: 2, file: 'm.json' });
  const before = told.length;
  settings.update(undefined, { rate: 9 });
  assert.deepEqual(
    told.slice(before).map(([name]) => name),
    [''],
  );
});

test('clearing goes back to what the server began with', () => {
  const { settings } = settingsOf({ level: 'TIMESTAMPS', file: 't.json', rate: 3 });
  settings.update(undefined, { rate: 8, level: off });
  assert.equal(settings.isOn, false);
  settings.update(undefined, { rate: null, level: null });
  assert.deepEqual([settings.of(undefined).rate, settings.of(undefined).level], [3, timestamps]);
});

test('what is left of a count stays unless a count is given', () => {
  const { settings, told } = settingsOf({ level: 'TIMESTAMPS', file: 't.json', count: 10 });
  settings.update(undefined, { rate: 2 });
  assert.equal(lastOf(told, '')?.count, undefined);
  settings.update('m', { rate: 3 });
  assert.equal(lastOf(told, 'm')?.count, 10, 'a new setting has a count of its own');
  settings.update(undefined, { count: 4 });
  assert.deepEqual([lastOf(told, '')?.count, lastOf(told, 'm')?.count], [4, 4]);
  settings.update('m', { count: 6 });
  settings.update(undefined, { count: 5 });
  assert.deepEqual([lastOf(told, '')?.count, lastOf(told, 'm')?.count], [5, undefined]);
});

test('tracing that goes off and on again keeps what is left', () => {
  const { settings, told } = settingsOf({ level: 'TIMESTAMPS', file: 't.json', count: 10 });
  settings.update(undefined, { level: off });
  assert.deepEqual([lastOf(told, '')?.timestamps, lastOf(told, '')?.count], [false, undefined]);
  settings.update(undefined, { level: timestamps });
  assert.deepEqual([lastOf(told, '')?.timestamps, lastOf(told, '')?.count], [true, undefined]);
});

test('settings with which no trace could be made are refused, and change nothing', () => {
  const { settings, told } = settingsOf({});
  const refused = (changes: Parameters<TraceSettings['update']>[1], model?: string): string =>
    thrown(() => {
      settings.update(model, changes);
    }).message;
  const prefix = 'Attempting to set invalid trace setting :';
  assert.equal(refused({ level: timestamps }), `${prefix}trace file name is not given`);
  settings.update(undefined, { file: 't.json' });
  assert.equal(refused({ level: timestamps, rate: 0 }), `${prefix}sample rate must be non-zero`);
  assert.equal(refused({ level: timestamps, count: 0 }, 'm'), `${prefix}trace count must be non-zero`);
  assert.deepEqual(told, []);
  settings.update(undefined, { rate: 0, count: 0 });
  settings.update('m', { level: timestamps, rate: 1, count: 1 });
  assert.equal(
    refused({ file: null }),
    `${prefix}trace file name is not given`,
    'the model follows in the file',
  );
  assert.equal(settings.of(undefined).file, 't.json');
});

test('in mode opentelemetry the rate may be 0, and there is neither file nor tensor', () => {
  const { told } = settingsOf({ mode: 'opentelemetry', level: ['TIMESTAMPS', 'TENSORS'], rate: 0 });
  const only = {
    timestamps: true,
    tensors: false,
    rate: 0,
    count: -1,
    file: '',
    logFrequency: 0,
    spans: true,
  };
  assert.deepEqual(told, [['', only]]);
});

test('options of the start are checked', () => {
  for (const [config, text] of [
    [{ level: 'TIMESTAMPS' }, /options\.traceConfig: Attempting.*file name is not given/],
    [{ level: 'MIN' }, /expected 'OFF', 'TIMESTAMPS', 'TENSORS'.*options\.traceConfig\.level.*'MIN'/],
    [{ level: [] }, /options\.traceConfig\.level/],
    [{ level: ['OFF', 'TENSORS'] }, /Expect only one trace level 'OFF' is specified/],
    [{ rate: -1 }, /integer from 0 to 4294967295 for options\.traceConfig\.rate/],
    [{ rate: 1.5 }, /rate/],
    [{ count: -2 }, /integer from -1 to 2147483647/],
    [{ mode: 'zipkin' }, /'triton' or 'opentelemetry' for options\.traceConfig\.mode/],
    [{ file: 1 }, /path of a file/],
    [{ file: 'a\0b' }, /path of a file/],
    [{ logFrequency: '1' }, /logFrequency/],
    [{ openTelemetry: {} }, /openTelemetry needs mode: 'opentelemetry'/],
    [{ mode: 'opentelemetry', file: 'x' }, /need mode: 'triton'/],
    [{ mode: 'opentelemetry', openTelemetry: { url: 'collector' } }, /http: or https: URL/],
    [{ mode: 'opentelemetry', openTelemetry: { resource: { a: 1 } } }, /resource\['a'\]/],
    [
      { mode: 'opentelemetry', openTelemetry: { maxQueueSize: 5, maxExportBatchSize: 6 } },
      /at most maxQueueSize, 5/,
    ],
    [{ levels: 'OFF' }, /unknown key 'levels'.*level/],
    ['OFF', /expected an object for options\.traceConfig/],
  ] as const) {
    assert.match(thrown(() => checkTraceConfig(config, '/')).message, text, JSON.stringify(config));
  }
});

test('the variables of OpenTelemetry are read', (t) => {
  const variables = {
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,nothing,text=a%20b,service.name=mine',
    OTEL_BSP_MAX_QUEUE_SIZE: '99',
    OTEL_BSP_SCHEDULE_DELAY: 'soon',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '7',
  };
  Object.assign(process.env, variables);
  t.after(() => {
    for (const name of Object.keys(variables)) Reflect.deleteProperty(process.env, name);
  });
  const read = (openTelemetry: TraceConfig['openTelemetry']): unknown =>
    checkTraceConfig({ mode: 'opentelemetry', openTelemetry }, '/').openTelemetry;
  assert.deepEqual(read({ resource: { more: 'x' } }), {
    url: 'http://localhost:4318/v1/traces',
    resource: { 'deployment.environment': 'test', text: 'a b', 'service.name': 'mine', more: 'x' },
    maxQueueSize: 99,
    scheduleDelayMs: 5000,
    maxExportBatchSize: 7,
  });
  assert.deepEqual(read({ maxQueueSize: 8, maxExportBatchSize: 3, scheduleDelayMs: 1, url: 'https://c/' }), {
    url: 'https://c/',
    resource: { 'deployment.environment': 'test', text: 'a b', 'service.name': 'mine' },
    ...{ maxQueueSize: 8, scheduleDelayMs: 1, maxExportBatchSize: 3 },
  });
});
