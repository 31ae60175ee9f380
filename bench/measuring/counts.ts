/**
 * Counts the allocations, locks and system calls of requests. `npm run bench -- counts` prints the counts of closed
 * loops, per request and per batch, and the counts over their limits.
 *
 * The rule: in steady state the engine makes no allocation, takes no lock for a request, and at most three locks for a
 * batch, on all threads together. Node, V8 and the runtime are not counted. The columns from `signals` on are the
 * system calls of a batch: a `contended` lock and a sleep count twice, as a wait and a wake-up. `usage` is a query of a
 * spinning thread, which checks whether another thread had its core.
 *
 * An ensemble copies nothing between its steps: its bytes are those of one step alone. Its batches are its
 * requests.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from '../../src/index.js';
import '../../test/support/fault-addon.js';
import { writeRepository } from '../../test/support/repository.js';
import {
  allMetrics,
  canCount,
  countedEnsembles,
  countedLoads,
  countedModels,
  countedStep,
  countRequests,
  overCopied,
  overLimits,
  systemCalls,
} from './request-cost.js';
import { table } from '../reports/table.js';

const warmUp = 300;
const rounds = 300;

async function main(): Promise<void> {
  if (!canCount()) {
    console.error('The addon counts on Linux only, and not under a sanitizer.');
    process.exitCode = 1;
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-counts-'));
  try {
    const modelRepository = await writeRepository(folder, countedModels());
    const rows: string[][] = [];
    const missed: string[] = [];
    for (const inline of ['auto', 'off'] as const) {
      const server = await createServer({ modelRepository, inline, metricsConfig: allMetrics });
      for (const [model, outstanding] of [...countedLoads, ...countedEnsembles]) {
        const cost = await countRequests(server, model, outstanding, rounds, warmUp);
        const { requests, batches, counts } = cost;
        const isEnsemble = countedEnsembles.some(([name]) => name === model);
        const found = isEnsemble
          ? overCopied(cost, await countRequests(server, countedStep, outstanding, rounds, warmUp))
          : overLimits(cost);
        const over = found.map((what) => `${model}, inline ${inline}, ${outstanding} outstanding: ${what}`);
        missed.push(...over);
        const each = (count: number, digits = 2): string => (count / batches).toFixed(digits);
        rows.push([
          model,
          inline,
          String(outstanding),
          (requests / batches).toFixed(1),
          (counts.allocations / requests).toFixed(3),
          each(counts.allocations),
          (counts.locks / requests).toFixed(3),
          each(counts.locks),
          (systemCalls(counts) / requests).toFixed(3),
          each(systemCalls(counts)),
          each(counts.signals),
          each(counts.sleeps),
          each(counts.wakes),
          each(counts.contended),
          each(counts.usages),
          each(counts.yields + counts.maps),
          (counts.copied / requests).toFixed(0),
        ]);
      }
      await server.close();
    }
    const head = [
      ...['model', 'inline', 'outstanding', 'mean batch', 'allocations/request', '/batch', 'locks/request'],
      ...[
        '/batch',
        'system calls/request',
        '/batch',
        'signals',
        'sleeps',
        'wakes',
        'contended',
        'usage',
        'other',
        'copied bytes/request',
      ],
    ];
    console.log(table(head, rows));
    console.log(missed.length > 0 ? `\nMissed:\n${missed.join('\n')}` : '\nAll within the limits.');
    if (missed.length > 0) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true });
  }
}

await main();
