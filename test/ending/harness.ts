/** Helpers for tests of endings: a repository for their children, and the check of a good ending. */

import assert from 'node:assert/strict';
import { identity, onnx, type Context } from '../support/harness.js';
import { faulty } from '../faults/harness.js';
import { addModel, slowModel } from '../support/models.js';
import { runChild, type ChildOptions, type ChildOutcome } from '../support/child.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

/**
 * Models: `add` (y = x + 1) and `long` of ONNX Runtime, `echo`, `soon` (200 ms) and `late` of the identity backend,
 * and `faulty`. Runs of `long` and `late` take longer than a child may, so a child that waits for them is killed.
 */
export async function repository(context: Context): Promise<string> {
  return writeRepository(await temporaryFolder(context), {
    add: onnx(addModel()),
    long: onnx(slowModel(1e9)),
    echo: identity(),
    soon: identity({ delayMs: 200 }),
    late: identity({ delayMs: 600_000 }),
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

/** Fails unless the child ended with this code or signal, and without output on stderr. */
export function assertEnding(
  outcome: ChildOutcome,
  expected: number | NodeJS.Signals,
  { stderr = /^$/ }: { readonly stderr?: RegExp } = {},
): void {
  const { code, signal } = outcome;
  assert.deepEqual(
    [signal ?? code, outcome.stderr.replace(stderr, '')],
    [expected, ''],
    JSON.stringify(outcome),
  );
}

/** Node's report of an error that nobody caught, with its stack. */
export function nodesReport(message: string): RegExp {
  return new RegExp(`^[^]*Error: ${message}\\n(    at .*\\n)*(\\{[^]*\\}\\n)?\\nNode\\.js v.*\\n$`);
}
