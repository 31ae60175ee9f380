import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, suite, test } from 'node:test';
import type { TritonErrorCode } from '../../src/index.js';
import { rejection } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { errorSituations, startScene } from './error-situations.js';

/** Every code: without one of them this does not compile. */
const codes: Readonly<Record<TritonErrorCode, true>> = {
  INVALID_ARG: true,
  NOT_FOUND: true,
  UNAVAILABLE: true,
  UNSUPPORTED: true,
  ALREADY_EXISTS: true,
  CANCELLED: true,
  INTERNAL: true,
  UNKNOWN: true,
};

const page = await readFile(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
const [introduction = '', ...sections] = page.split('\n## ');

/** The first cells of a table's rows, if they are in backticks. */
function firstCells(text: string): string[] {
  return [...text.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, cell = '']) => cell);
}

/** A pattern for a message of the page, in which `…` stands for anything. */
function pattern(message: string): RegExp {
  const parts = message.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`);
}

test('the page lists every code', () => {
  assert.deepEqual(
    firstCells(introduction.slice(introduction.lastIndexOf('| code '))).sort(),
    Object.keys(codes).sort(),
  );
});

test('the page has the codes that there are situations for', () => {
  assert.deepEqual(
    sections.map((section) => section.split('\n')[0]),
    Object.keys(errorSituations),
  );
});

const scene = await startScene({ after });
for (const section of sections) {
  const [code = ''] = section.split('\n');
  void suite(`${code} on the page`, () => {
    const messages = firstCells(section.slice(section.lastIndexOf('\n| message')));
    const situations = errorSituations[code] ?? [];

    test('there is a situation for each message', () => {
      assert.equal(messages.length, situations.length);
    });

    for (const [i, message] of messages.entries()) {
      test(message, async (t) => {
        const folder = await temporaryFolder(t);
        const error = await rejection(Promise.resolve({ ...scene, folder }).then(situations[i]));
        assert.equal(error.code, code);
        assert.match(error.message, pattern(message));
      });
    }
  });
}
