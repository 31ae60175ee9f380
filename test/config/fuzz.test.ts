import test from 'node:test';
import assert from 'node:assert/strict';
import fc from '../support/fast-check.js';
import { expandConfig } from '../../src/config/schema/expand.js';
import { readModelConfigJson } from '../../src/config/text/read-json.js';
import { prepareConfig } from '../../src/config/rules/prepare.js';
import { printConfig } from '../../src/config/text/print.js';
import type { ParsedConfig } from '../../src/config/text/read.js';
import { TritonError } from '../../src/errors.js';
import { anyConfig } from './arbitrary.js';
import { backends, gpus, parse } from './helpers.js';

/** Runs an action that may only throw a TritonError with a location. */
function survives(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof TritonError, String(error));
    assert.ok(error.code === 'INVALID_ARG' || error.code === 'UNSUPPORTED', error.code);
    assert.ok(error.location !== undefined && error.location.line >= 0);
    assert.ok(error.message.length < 100_000);
  }
}

const prepare = (parsed: ParsedConfig): unknown =>
  prepareConfig(parsed, {
    modelName: 'm',
    modelDirectory: '/m',
    firstVersionEntries: [],
    autoComplete: false,
    backends,
    gpus: () => gpus(0),
    instanceKind: undefined,
  });

const piece = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      '{',
      '}',
      '<',
      '>',
      '[',
      ']',
      ':',
      ',',
      ';',
      '-',
      '#',
      '"',
      "'",
      '\\',
      '\n',
      '.',
      ' ',
    ),
    maxLength: 2,
  }),
  fc.constantFrom(
    'name',
    'input',
    'dims',
    'parameters',
    'key',
    'value',
    'data_type',
    'TYPE_FP32',
    'max_batch_size',
    '"x"',
    '1',
    '-1',
    '1.5',
    'true',
    '//',
  ),
  fc.string({ unit: 'binary', maxLength: 3 }),
);

test('garbage is refused with a TritonError', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      survives(() => prepare(parse(pieces.join(''))));
    }),
    { numRuns: 1000 },
  );
});

test('random bytes are refused with a TritonError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      survives(() => prepare(parse(bytes)));
    }),
    { numRuns: 300 },
  );
});

test('a configuration with a part cut out or doubled is read or refused with a TritonError', () => {
  fc.assert(
    fc.property(anyConfig, fc.nat(), fc.nat(100), fc.boolean(), (written, at, length, double) => {
      const text = printConfig(expandConfig(written));
      const start = at % text.length;
      const end = start + length;
      const part = text.slice(start, end);
      survives(() => prepare(parse(text.slice(0, start) + (double ? part + part : '') + text.slice(end))));
    }),
    { numRuns: 200 },
  );
});

test('any configuration is accepted or refused with a TritonError', () => {
  fc.assert(
    fc.property(anyConfig, (written) => {
      survives(() => prepare(readModelConfigJson({ file: 'json', value: written })));
    }),
    { numRuns: 150 },
  );
});

test('any JSON value is accepted or refused with a TritonError', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      survives(() => readModelConfigJson({ file: 'json', value }));
    }),
    { numRuns: 300 },
  );
});
