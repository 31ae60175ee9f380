// Triton's load generator, perf_analyzer, from its wheel on PyPI. It needs two libraries that the wheel lacks: one comes
// from PyPI, the other from a Debian package, which is unpacked but not installed.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../python-environment.mjs';
import { run, serving } from './serving.mjs';

const packages = ['tritonclient==2.50.0', 'nvidia-cuda-runtime-cu12==12.6.77'];
const place = join(root, 'build', 'clients', 'perf-analyzer');
const program = join(place, 'bin', 'perf_analyzer');
const debian = join(place, 'debian');
const env = {
  ...process.env,
  LD_LIBRARY_PATH: [
    join(place, 'nvidia', 'cuda_runtime', 'lib'),
    join(debian, 'usr', 'lib', 'x86_64-linux-gnu'),
  ].join(':'),
};

const runs = (file, args, options = {}) =>
  spawnSync(file, args, { stdio: 'ignore', timeout: 180_000, ...options }).status === 0;

function getLibrary() {
  mkdirSync(debian, { recursive: true });
  const get = () => runs('apt-get', ['download', 'libb64-0d'], { cwd: debian });
  if (!get() && !(runs('apt-get', ['update', '-qq']) && get())) return false;
  const file = readdirSync(debian).find((name) => name.endsWith('.deb'));
  return file !== undefined && runs('dpkg', ['-x', join(debian, file), debian]);
}

export function missing() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'there is one for Linux on x64 alone';
  const starts = () => runs(program, ['--version'], { env });
  if (existsSync(program) && starts()) return undefined;
  mkdirSync(place, { recursive: true });
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--upgrade', '--target', place, ...packages];
  if (!runs('python3', pip)) return `python3 -m pip cannot install ${packages.join(' and ')}`;
  chmodSync(program, 0o755);
  if (!starts() && !getLibrary()) return "apt-get cannot download Debian's package libb64-0d";
  return starts() ? undefined : `${program} does not start`;
}

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
