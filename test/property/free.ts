/** Runs a schedule freely, and checks rules that must always hold. */

import assert from 'node:assert/strict';
import { attachServer, type InferenceServer, type TritonErrorCode } from '../../src/index.js';
import { turn } from '../support/harness.js';
import { ownEnd } from './batcher.js';
import { batchesOf, ended, histogram, load, send, unload, type Bench, type Call, type Ran } from './calls.js';
import type { Draft, FreeSchedule } from './schedule.js';

/** A request, with the events that may prevent its answer. */
interface Sent {
  readonly call: Call;
  readonly aborted: boolean;
  /** Whether its connection was closed before it was sent. */
  readonly late: boolean;
  /** Whether its connection was closed before it was known to have ended. */
  cut: boolean;
}

/**
 * Runs a schedule.
 *
 * @throws An AssertionError if a rule is broken.
 */
export async function runFree(bench: Bench, schedule: FreeSchedule): Promise<void> {
  const { policy, instances, steps } = schedule;
  const { server } = bench;
  await load(bench, policy, policy.delayUs, instances, schedule.inline);
  const ports: InferenceServer[] = [
    server,
    await attachServer(server.handle),
    await attachServer(server.handle),
  ];
  let controller = new AbortController();
  const sent: Sent[] = [];
  const closing: Promise<void>[] = [];
  const sendOne = (draft: Draft): void => {
    const port = ports[draft.port];
    assert.ok(port);
    const call = send(port, draft, draft.aborted ? controller.signal : undefined);
    sent.push({ call, aborted: draft.aborted, late: false, cut: false });
  };
  try {
    for (const step of steps) {
      switch (step.do) {
        case 'send':
          for (const draft of step.requests) sendOne(draft);
          break;
        case 'turns':
          for (let i = 0; i < step.count; i++) await turn();
          break;
        case 'abort':
          controller.abort();
          controller = new AbortController();
          break;
        case 'settle':
          await ended(sent.map(({ call }) => call));
          break;
        case 'close': {
          const old = ports[step.port];
          assert.ok(old);
          for (const one of sent) one.cut ||= one.call.draft.port === step.port && one.call.ends === 0;
          closing.push(old.close({ timeoutMs: step.timeoutMs }));
          const late = send(old, { port: step.port, rows: 1, shape: '1x1', fault: 'none' });
          sent.push({ call: late, aborted: false, late: true, cut: false });
          ports[step.port] = await attachServer(server.handle);
        }
      }
    }
    await ended(sent.map(({ call }) => call));
    await Promise.all(closing);
    for (const one of sent) checkEnd(one, policy.maxBatchSize);
    const answered = checkBatches(sent, policy, instances);
    checkStatistics(server, sent, answered);
  } finally {
    controller.abort();
    await Promise.all(ports.slice(1).map((port) => port.close({ timeoutMs: 0 })));
    await unload(bench);
  }
}

/** Checks how a request ended. */
function checkEnd({ call, aborted, late, cut }: Sent, maxBatchSize: number): void {
  const { fault, rows, outcome, message } = call;
  const end = typeof outcome === 'object' ? 'answer' : outcome;
  const allowed = new Set<TritonErrorCode | 'answer' | undefined>();
  if (late) {
    allowed.add('UNAVAILABLE');
  } else if (rows > maxBatchSize) {
    allowed.add('INVALID_ARG');
  } else {
    if (fault in ownEnd) allowed.add(ownEnd[fault] ?? 'answer');
    // When a run throws, every unanswered request ends with that error, whichever request caused it.
    else for (const code of ['INTERNAL', 'UNAVAILABLE'] as const) allowed.add(code);
    if (fault === 'slow') allowed.add('answer');
    if (aborted || cut) allowed.add('CANCELLED');
  }
  assert.ok(
    allowed.has(end),
    `${fault}, ${rows} rows: expected ${[...allowed].join(' or ')}, not ${end === 'answer' ? end : `${String(end)} (${message})`}`,
  );
}

/** Checks the runs that answered something, by number. */
function checkBatches(
  sent: readonly Sent[],
  { maxBatchSize, preferred, acrossShapes }: FreeSchedule['policy'],
  instances: number,
): ReadonlyMap<number, readonly (Ran & Call)[]> {
  const runs = new Map<number, (Ran & Call)[]>();
  const last = new Map<string, number>();
  for (const { call } of sent) {
    if (typeof call.outcome !== 'object') continue;
    const { port, shape } = call.draft;
    const { run } = call.outcome;
    runs.set(run, [...(runs.get(run) ?? []), { ...call, ...call.outcome }]);
    // A single instance runs requests of a connection, or those of one shape, in the order in which they were
    // sent.
    const alike = acrossShapes ? `${port} ${shape}` : String(port);
    if (instances === 1) assert.ok(run >= (last.get(alike) ?? 0), 'a request overtook another one');
    last.set(alike, run);
  }
  for (const [run, batch] of runs) {
    const [first] = batch;
    assert.ok(first);
    if (!preferred) assert.equal(batch.length, 1);
    assert.ok(first.batchSize <= maxBatchSize, `run ${run} has ${first.batchSize} rows`);
    const inOrder = batch.toSorted((a, b) => a.position - b.position);
    let row = 0;
    for (const one of inOrder) {
      assert.equal(one.batchSize, first.batchSize);
      assert.equal(one.shape, first.shape, `run ${run} has unequal shapes`);
      assert.ok(one.firstRow >= row, `run ${run} has a row twice`);
      row = one.firstRow + one.rows;
    }
    assert.ok(row <= first.batchSize);
    for (const port of new Set(batch.map(({ draft }) => draft.port))) {
      const positions = batch.filter(({ draft }) => draft.port === port).map(({ position }) => position);
      assert.deepEqual(
        positions,
        positions.toSorted((a, b) => a - b),
        `run ${run} is out of order`,
      );
      assert.equal(new Set(positions).size, positions.length);
    }
  }
  return runs;
}

function checkStatistics(
  server: InferenceServer,
  sent: readonly Sent[],
  runs: ReadonlyMap<number, readonly (Ran & Call)[]>,
): void {
  const accepted = sent.map(({ call }) => call).filter(({ outcome }) => outcome !== 'INVALID_ARG');
  const answered = accepted.filter(({ outcome }) => typeof outcome === 'object');
  const cancelled = accepted.filter(({ outcome }) => outcome === 'CANCELLED').length;
  const refused = sent.filter(({ late }) => late).length;
  const rows = answered.reduce((sum, call) => sum + call.rows, 0);
  const { inference_stats, inference_count, execution_count } = server.model('m').statistics();
  const [good, bad] = [inference_stats.success.count, inference_stats.fail.count];
  // A caller that aborted its request does not know its outcome.
  const failed = accepted.length - answered.length - cancelled - refused;
  assert.ok(good >= answered.length && good <= answered.length + cancelled, `${good} successes`);
  assert.ok(bad >= failed && good + bad <= accepted.length - refused, `${bad} failures`);
  assert.ok(inference_count >= rows);
  assert.ok(execution_count >= runs.size);
  const batches = batchesOf(server);
  const seen = histogram([...runs.values()].map(([first]) => first?.batchSize ?? 0));
  for (const [size, count] of seen) {
    assert.ok((batches.find(([other]) => other === size)?.[1] ?? 0) >= count, `batches of ${size}`);
  }
  if (cancelled > 0) return;
  assert.deepEqual([good, bad, inference_count], [answered.length, failed, rows]);
  assert.deepEqual(batches, seen);
}
