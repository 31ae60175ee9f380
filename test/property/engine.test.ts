/**
 * Compares the engine with the model of the batcher on random schedules. `npm test -- property --seconds
 * 120 --seed N` runs it for longer, or repeats a run. A failure prints its seed.
 */

// Long: it plays many random cases.

import { after, test, type TestContext } from 'node:test';
import fc from '../support/fast-check.js';
import { openBench } from './calls.js';
import { runFree } from './free.js';
import { runHeld } from './held.js';
import { freeSchedule, heldSchedule } from './schedule.js';

/** The time to run for, in place of a number of schedules. */
const seconds = process.env['TRITONTS_PROPERTY_SECONDS'];
const seed = Number(process.env['TRITONTS_PROPERTY_SEED'] ?? 1);
const bench = await openBench({ after });

async function check<T>(
  t: TestContext,
  schedule: fc.Arbitrary<T>,
  schedules: number,
  run: (schedule: T) => Promise<void>,
): Promise<void> {
  let runs = 0;
  let last: T | undefined;
  let running = Promise.resolve();
  const property = fc.asyncProperty(schedule, async (drawn) => {
    runs++;
    last = drawn;
    running = run(drawn);
    await running;
  });
  try {
    await fc.assert(property, {
      seed,
      ...(seconds === undefined
        ? { numRuns: schedules }
        : {
            numRuns: 1_000_000,
            interruptAfterTimeLimit: Number(seconds) * 500,
            markInterruptAsFailure: false,
          }),
      includeErrorInReport: true,
    });
    // A schedule that was under way when the time was over counts, too.
    await running.catch((error: unknown) => {
      t.diagnostic(`failed: ${fc.stringify(last)}`);
      throw error;
    });
  } finally {
    // No part of the run may overlap with the next test.
    await running.catch(() => undefined);
    t.diagnostic(`${runs} schedules with seed ${seed}`);
  }
}

test('the batches are those of the model, request by request, and so are the counters', (t) =>
  check(t, heldSchedule, 200, (schedule) => runHeld(bench, schedule)));

test('every request ends once with its own rows or its own error, in batches that break no rule', (t) =>
  check(t, freeSchedule, 300, (schedule) => runFree(bench, schedule)));
