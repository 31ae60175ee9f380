/**
 * What a request costs in allocations, locks and signals: builds the addon with counters (build/counts) and prints the
 * counts of a closed loop, per request and per batch. `npm run bench:counts`
 *
 * The rule: in steady state no allocation of ours and no lock a request, and at most three locks a batch, all sides
 * of the hop together. Blocks of pages and system calls other than signals and sleeps are not counted. Node's, V8's and the runtime's own are not counted.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addon } from '../src/addon/load.js';
import type { NativeCounts } from '../src/addon/native.js';
import { createServer, type InferenceServer } from '../src/index.js';
import { addModel, mlpModel } from '../test/support/models.js';
import { writeRepository } from '../test/support/repository.js';
import { table } from './table.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const library = join(root, 'build/counts/Release/tritonts.node');

/** Batches run before anything is counted, so that pools are full and shapes are known. */
const warmUpRounds = 300;
const rounds = 300;

interface Scenario {
  readonly model: string;
  readonly inline: 'auto' | 'off';
  readonly outstanding: number;
}

/** A tensor of as many floats as `width`, in and out. */
function config(backend: string, width: number): string {
  const tensor = (name: string): string => `[ { name: "${name}" data_type: TYPE_FP32 dims: [ ${width} ] } ]`;
  return [
    `backend: "${backend}" max_batch_size: 512`,
    `input ${tensor('x')} output ${tensor('y')}`,
    'dynamic_batching { }',
    'instance_group [ { kind: KIND_CPU } ]',
  ].join('\n');
}

const widths: Readonly<Record<string, number>> = { identity: 16, add: 16, mlp: 512 };

async function countRounds(
  server: InferenceServer,
  name: string,
  outstanding: number,
): Promise<{ readonly counts: NativeCounts; readonly batches: number }> {
  const model = server.model(name);
  const x = new Float32Array(widths[name] ?? 0);
  const ask = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      await Promise.all(Array.from({ length: outstanding }, () => model.infer({ x })));
    }
  };
  const native = addon();
  if (!native.counts) throw new Error('the addon has no counters');
  await ask(warmUpRounds);
  const before = native.counts();
  const batchesBefore = model.statistics().execution_count;
  await ask(rounds);
  const after = native.counts();
  const batches = model.statistics().execution_count - batchesBefore;
  const difference = (key: keyof NativeCounts): number => after[key] - before[key];
  return {
    counts: {
      allocations: difference('allocations'),
      locks: difference('locks'),
      signals: difference('signals'),
      sleeps: difference('sleeps'),
      wakes: difference('wakes'),
    },
    batches,
  };
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-counts-'));
  try {
    const repository = await writeRepository(folder, {
      identity: { config: config('identity', 16), versions: { '1': {} } },
      add: { config: config('onnxruntime', 16), versions: { '1': addModel() } },
      mlp: { config: config('onnxruntime', 512), versions: { '1': mlpModel() } },
    });
    const rows: string[][] = [];
    for (const inline of ['auto', 'off'] as const) {
      const server = await createServer({ modelRepository: repository, inline });
      const scenarios: Scenario[] = Object.keys(widths).flatMap((model) =>
        [1, 64, 512].map((outstanding) => ({ model, inline, outstanding })),
      );
      for (const { model, outstanding } of scenarios) {
        if (model === 'mlp' && outstanding > 64) continue;
        const { counts, batches } = await countRounds(server, model, outstanding);
        const requests = rounds * outstanding;
        rows.push([
          model,
          inline,
          String(outstanding),
          (requests / batches).toFixed(1),
          (counts.allocations / requests).toFixed(3),
          (counts.allocations / batches).toFixed(2),
          (counts.locks / requests).toFixed(3),
          (counts.locks / batches).toFixed(2),
          (counts.signals / batches).toFixed(2),
          (counts.sleeps / batches).toFixed(2),
          (counts.wakes / batches).toFixed(2),
        ]);
      }
      await server.close();
    }
    const head = [
      ...['model', 'inline', 'outstanding', 'mean batch', 'allocations/request', '/batch', 'locks/request'],
      ...['/batch', 'signals/batch', 'sleeps/batch', 'wakes/batch'],
    ];
    console.log(table(head, rows));
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (process.env['TRITONTS_ADDON'] === library) {
  await main();
} else {
  execFileSync(
    process.execPath,
    [
      join(root, 'scripts/build-addon.mjs'),
      '--out',
      resolve(root, 'build/counts'),
      '--define',
      'TRITONTS_COUNTS=ON',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  execFileSync(process.execPath, [fileURLToPath(import.meta.url)], {
    stdio: 'inherit',
    env: { ...process.env, TRITONTS_ADDON: library },
  });
}
