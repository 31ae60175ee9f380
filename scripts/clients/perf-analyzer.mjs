// Triton's load generator, perf_analyzer, against both endpoints.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, missing, program } from './perf-analyzer-program.mjs';
import { run, serving } from './serving.mjs';

export { missing };

/** The arguments of each run. */
const loads = [
  ['-i', 'http'],
  ['-i', 'http', '--input-tensor-format', 'json', '--output-tensor-format', 'json'],
  ['-i', 'http', '-b', '4', '--async'],
  ['-i', 'grpc'],
  ['-i', 'grpc', '-b', '4', '--async'],
  ['-i', 'grpc', '--streaming', '--async'],
  ['-i', 'grpc', '--grpc-compression-algorithm', 'gzip'],
  ['-i', 'http', '--shared-memory', 'system'],
  ['-i', 'grpc', '--shared-memory', 'system'],
];
const levels = [1, 8, 64];
/** Of models with sequences, for which it keeps so many under way. */
const sequences = ['--num-of-sequences', '8', '--sequence-length', '20'];
const sequenceLoads = [
  ['-i', 'http', '-m', 'direct', ...sequences],
  ['-i', 'grpc', '-m', 'oldest', ...sequences],
  ['-i', 'grpc', '-m', 'direct', '--streaming', '--async', ...sequences],
];

/** Three windows, however much they differ. With a number of requests instead, it may hang after the last answer. */
const windows = ['--measurement-interval', '300', '--stability-percentage', '999'];
const limitMs = 60_000;

/** Inferences per second, from its CSV table. */
function rateOf(table) {
  const [head, row = ''] = readFileSync(table, 'utf8').trim().split('\n');
  return Number(row.split(',')[head.split(',').indexOf('Inferences/Second')]);
}

export async function check(folder, { repository }) {
  const table = join(folder, 'perf.csv');
  const measure = async (ports) => {
    for (const load of [...loads.map((one) => [...one, '-m', 'add']), ...sequenceLoads]) {
      for (const level of levels) {
        const args = ['-u', `127.0.0.1:${ports[load[1]]}`, ...load];
        const range = ['--concurrency-range', String(level), ...windows, '-f', table];
        const text = await run(program, [...args, ...range], {
          env,
          cwd: folder,
          stdio: ['ignore', 'pipe', 'inherit'],
          timeout: limitMs,
        });
        // A failed request makes it exit with an error code.
        if (!(rateOf(table) > 0))
          throw new Error(`perf_analyzer ${load.join(' ')} measured nothing:\n${text}`);
      }
      console.log(
        `ok perf_analyzer ${load.join(' ')}: three windows at concurrency ${levels.join(', ')} each`,
      );
    }
  };
  await serving(repository, {}, measure, { clientSharedMemory: true });
}
