// Long: it starts many processes.

import { suite, test } from 'node:test';
import { assertEnding, nodesReport, repository } from '../ending/harness.js';
import { runChild, type ChildOutcome } from '../support/child.js';
import type { Context } from '../support/harness.js';

async function run(context: Context, ending: string): Promise<ChildOutcome> {
  const program = new URL('children/only-workers.js', import.meta.url);
  return runChild(program, [await repository(context), ending]);
}

void suite('where only workers have servers', { concurrency: 3 }, () => {
  test('they come and go, and the process ends with them', async (t) => {
    assertEnding(await run(t, 'terminate'), 0);
  });

  test('process.exit() ends them and keeps its code', async (t) => {
    assertEnding(await run(t, 'exit'), 7);
  });

  test('an error that nobody catches ends them, and is all that is said', async (t) => {
    assertEnding(await run(t, 'throw'), 1, { stderr: nodesReport('thrown on purpose') });
  });
});
