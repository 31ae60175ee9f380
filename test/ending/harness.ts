/** What the tests of endings share: a repository for their children, and what a good ending is. */

import assert from 'node:assert/strict';
import { identity, onnx, type Context } from '../server/harness.js';
import { faulty } from '../faults/harness.js';
import { addModel, slowModel } from '../support/models.js';
import { runChild, type ChildOptions, type ChildOutcome } from '../support/child.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

/** How long an ending may take, in milliseconds. */
export const endLimitMs = 3000;

/**
 * Models: `add` (y = x + 1) and `long` (20 s) of ONNX Runtime, `echo`, `soon` (200 ms) and `late` (60 s) of the identity
 * backend, and `faulty`.
 */
export async function repository(context: Context): Promise<string> {
  return writeRepository(await temporaryFolder(context), {
    add: onnx(addModel()),
    long: onnx(slowModel(12_000_000)),
    echo: identity(),
    soon: identity({ delayMs: 200 }),
    late: identity({ delayMs: 60_000 }),
    faulty: faulty({ batching: false }),
  });
}

/** Runs a program of `children/` on a repository. */
export async function runEnding(
  context: Context,
  program: string,
  args: readonly string[],
  options?: ChildOptions,
): Promise<ChildOutcome> {
  const url = new URL(`children/${program}.js`, import.meta.url);
  return runChild(url, [await repository(context), ...args], options);
}

/** Fails unless the child ended as it should: with this code or signal, in time, and without a word on stderr. */
export function assertEnding(
  outcome: ChildOutcome,
  expected: number | NodeJS.Signals,
  { stderr = /^$/ }: { readonly stderr?: RegExp } = {},
): void {
  const { code, signal, endMs } = outcome;
  assert.deepEqual(
    [signal ?? code, outcome.stderr.replace(stderr, '')],
    [expected, ''],
    JSON.stringify(outcome),
  );
  assert.ok(endMs < endLimitMs, `it took ${endMs} ms: ${JSON.stringify(outcome)}`);
}

/** The words of Node for an error that nobody caught, with its stack. */
export function nodesReport(message: string): RegExp {
  return new RegExp(`^[^]*Error: ${message}\\n(    at .*\\n)*(\\{[^]*\\}\\n)?\\nNode\\.js v.*\\n$`);
}
