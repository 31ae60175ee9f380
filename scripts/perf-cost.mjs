// What `tritonts perf` drives over the network, beside perf_analyzer: 64 requests at once to a tiny model of one server, in
// turn. All processes share the machine, so that a client that needs less leaves more to the server.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { onnx } from '../dist/test/support/harness.js';
import { addModel } from '../dist/test/support/models.js';
import { writeRepository } from '../dist/test/support/repository.js';
import { env, missing, program } from './clients/perf-analyzer-program.mjs';
import { root } from './python-environment.mjs';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, window: { type: 'string', default: '1000' } },
});
const rounds = Number(values.rounds);
const lacks = missing();
if (lacks !== undefined) {
  console.error(`perf_analyzer cannot run: ${lacks}`);
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'tritonts-perf-'));
const command = join(root, 'dist', 'command', 'main.js');
const ports = { http: 18_750, grpc: 18_751 };
const repository = await writeRepository(join(folder, 'models'), {
  add: onnx(addModel(), { maxBatchSize: 64 }),
});
const server = spawn(
  process.execPath,
  [
    ...[
      command,
      'serve',
      `--model-repository=${repository}`,
      '--allow-metrics=false',
      '--http-address=127.0.0.1',
    ],
    ...['--grpc-address=127.0.0.1', `--http-port=${ports.http}`, `--grpc-port=${ports.grpc}`],
  ],
  { stdio: 'ignore' },
);

/** Inferences a second, from the CSV file of a run. */
function rateOf(file, args, options) {
  const csv = join(folder, 'figures.csv');
  rmSync(csv, { force: true });
  const window = [
    '--measurement-interval',
    values.window,
    '--stability-percentage',
    '999',
    '--max-trials',
    '4',
  ];
  const all = [...args, '-m', 'add', '--concurrency-range', '64', ...window, '-f', csv];
  const { status, stderr } = spawnSync(file, all, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 120_000,
    ...options,
  });
  if (status !== 0) throw new Error(`${file} ${all.join(' ')} ended with ${status}:\n${stderr}`);
  const [head, row = ''] = readFileSync(csv, 'utf8').trim().split('\n');
  return Number(row.split(',')[head.split(',').indexOf('Inferences/Second')]);
}

const contestants = {
  http: {
    'tritonts perf': () => rateOf(process.execPath, [command, 'perf', `http://127.0.0.1:${ports.http}`]),
    perf_analyzer: () => rateOf(program, ['-u', `127.0.0.1:${ports.http}`], { env }),
    'perf_analyzer --async': () => rateOf(program, ['-u', `127.0.0.1:${ports.http}`, '--async'], { env }),
  },
  grpc: {
    'tritonts perf': () => rateOf(process.execPath, [command, 'perf', `grpc://127.0.0.1:${ports.grpc}`]),
    perf_analyzer: () => rateOf(program, ['-i', 'grpc', '-u', `127.0.0.1:${ports.grpc}`], { env }),
    'perf_analyzer --async': () =>
      rateOf(program, ['-i', 'grpc', '-u', `127.0.0.1:${ports.grpc}`, '--async'], { env }),
  },
};

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

try {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`http://127.0.0.1:${ports.http}/v2/health/ready`).catch(() => undefined);
    if (answer?.ok) break;
    if (tries === 100) throw new Error('the server did not start');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  for (const [protocol, runs] of Object.entries(contestants)) {
    // A new process gets faster for seconds.
    for (const run of [...Object.values(runs), runs['tritonts perf']]) run();
    const rates = Object.fromEntries(Object.keys(runs).map((name) => [name, []]));
    for (let round = 0; round < rounds; round++)
      for (const [name, run] of Object.entries(runs)) rates[name].push(run());
    const ours = rates['tritonts perf'];
    for (const [name, list] of Object.entries(rates)) {
      const ratio = median(ours.map((rate, i) => rate / list[i]));
      const range = `${Math.round(Math.min(...list))} to ${Math.round(Math.max(...list))}`;
      console.log(
        `${protocol}  ${name.padEnd(22)} ${Math.round(median(list))} infer/s (${range}); tritonts perf drives ${ratio.toFixed(2)} times as many`,
      );
    }
  }
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}
