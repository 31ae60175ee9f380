/** Runs a schedule whose batches follow from the rules, and compares each of them with the model's. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { attachServer, type InferenceServer } from '../../src/index.js';
import { turn, until } from '../support/harness.js';
import { endsOf, takeBatches } from './batcher.js';
import { batchesOf, ended, histogram, load, send, unload, type Bench, type Call } from './calls.js';
import type { Draft, HeldSchedule } from './schedule.js';

const delaysUs = { none: 0, over: 1000, endless: 3_600_000_000 } as const;

/**
 * Runs a schedule.
 *
 * @throws An AssertionError if the engine and the model differ.
 */
export async function runHeld(bench: Bench, schedule: HeldSchedule): Promise<void> {
  const { policy, instances, held, closes, idle } = schedule;
  const { server } = bench;
  const release = await load(bench, policy, delaysUs[policy.delay], instances, 'off');
  const other = await attachServer(server.handle);
  const ports = [server, other] as const;
  const controller = new AbortController();
  // After a failure, some requests would wait for ever without this.
  const cleanUp = new AbortController();
  const rest = policy.delay === 'endless' ? cleanUp.signal : undefined;
  const sent: Call[] = [];
  try {
    const full = { port: 0, rows: policy.maxBatchSize, shape: '1x1', fault: 'held' } as const;
    const holding = Array.from({ length: instances }, () => send(server, full));
    sent.push(...holding);
    await turn();

    const queue: Call[] = [];
    const cancelled: Call[] = [];
    const refused: Call[] = [];
    for (const drafts of held) {
      const calls = sendTurn(ports, drafts, policy.maxBatchSize, rest, controller.signal);
      await turn();
      for (const { call, aborted, refused: isRefused } of calls) {
        sent.push(call);
        if (isRefused) refused.push(call);
        else if (aborted || (closes && call.draft.port === 1)) cancelled.push(call);
        else queue.push(call);
      }
    }
    controller.abort();
    if (closes) await other.close({ timeoutMs: 0 });
    const lastSent = performance.now();
    if (policy.delay === 'over') await until(() => performance.now() > lastSent + delaysUs.over / 1000);
    await writeFile(release, '');

    const batches: Call[][] = holding.map((call) => [call]);
    const runOn = async (): Promise<void> => {
      const next = takeBatches(queue, policy);
      batches.push(...next);
      await ended(next.flat());
      for (const { outcome } of queue) assert.equal(outcome, undefined, 'what should wait has ended');
    };
    await runOn();
    for (const drafts of idle) {
      for (const { call, refused: isRefused } of sendTurn(ports, drafts, policy.maxBatchSize, rest)) {
        sent.push(call);
        if (isRefused) refused.push(call);
        else queue.push(call);
      }
      await runOn();
    }
    if (queue.length > 0) {
      // This completes a waiting batch, and its own.
      const last = send(server, { ...full, fault: 'none' });
      sent.push(last);
      queue.push(last);
      await runOn();
    }
    await ended(sent);
    for (const { outcome } of refused) assert.equal(outcome, 'INVALID_ARG');
    for (const { outcome } of cancelled) assert.equal(outcome, 'CANCELLED');
    compare(batches, instances);
    compareStatistics(server, batches, cancelled.length);
  } finally {
    // Even after a failure, the next schedule must not see anything of this one.
    controller.abort();
    cleanUp.abort();
    await writeFile(release, '');
    await other.close({ timeoutMs: 0 });
    await unload(bench);
  }
}

/**
 * Sends the requests of a turn. Returns them in the order of the queue, where those of a connection are
 * together.
 */
function sendTurn(
  ports: readonly InferenceServer[],
  drafts: readonly Draft[],
  maxBatchSize: number,
  rest: AbortSignal | undefined,
  signal?: AbortSignal,
): { call: Call; aborted: boolean; refused: boolean }[] {
  const calls = drafts.map((draft) => {
    const port = ports[draft.port];
    assert.ok(port);
    const aborted = draft.aborted && signal !== undefined;
    const call = send(port, draft, aborted ? signal : rest);
    return { call, aborted, refused: call.rows > maxBatchSize };
  });
  // Refused requests do not reach a queue.
  const first = calls.find(({ refused }) => !refused)?.call.draft.port ?? 0;
  const later = (call: Call): number => (call.draft.port === first ? 0 : 1);
  return calls.toSorted((a, b) => later(a.call) - later(b.call));
}

function compare(batches: readonly (readonly Call[])[], instances: number): void {
  const runs = new Set<number>();
  for (const [index, batch] of batches.entries()) {
    const batchSize = batch.reduce((sum, { rows }) => sum + rows, 0);
    const ends = endsOf(batch.map(({ fault }) => ({ fault: fault === 'held' ? 'none' : fault })));
    let firstRow = 0;
    let run: number | undefined;
    for (const [position, { rows, outcome }] of batch.entries()) {
      const end = ends[position];
      if (end !== undefined || typeof outcome !== 'object') {
        assert.equal(outcome, end, `request ${position} of batch ${index}`);
      } else {
        // Several instances may start their runs in any order.
        run ??= instances === 1 ? index + 1 : outcome.run;
        assert.deepEqual(outcome, { run, position, firstRow, batchSize }, `batch ${index}`);
      }
      firstRow += rows;
    }
    if (run === undefined) continue;
    assert.ok(!runs.has(run), `two batches were run ${run}`);
    runs.add(run);
  }
}

function compareStatistics(
  server: InferenceServer,
  batches: readonly (readonly Call[])[],
  cancelled: number,
): void {
  const answered = (call: Call): boolean => typeof call.outcome === 'object';
  const rowsOf = (calls: readonly Call[]): number => calls.reduce((sum, { rows }) => sum + rows, 0);
  const all = batches.flat();
  const { inference_stats: stats, inference_count, execution_count } = server.model('m').statistics();
  assert.deepEqual(
    [stats.success.count, stats.fail.count, inference_count, execution_count],
    [
      all.filter(answered).length,
      all.filter((call) => !answered(call)).length + cancelled,
      rowsOf(all.filter(answered)),
      batches.length,
    ],
  );
  for (const { count } of [stats.queue, stats.compute_input, stats.compute_infer, stats.compute_output]) {
    assert.equal(count, stats.success.count);
  }
  const sizes = batches.filter((batch) => batch.some(answered)).map(rowsOf);
  assert.deepEqual(batchesOf(server), histogram(sizes));
}
