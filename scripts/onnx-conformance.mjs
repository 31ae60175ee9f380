// Runs the test cases that the Python package `onnx` publishes through createServer: npm run test:onnx [-- options].
//
// Into ignored folders it puts a Python environment with that package, the cases as a model repository, and a program that
// runs a case in the bare ONNX Runtime; then test/conformance/run.ts, which has the options, does the rest.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, 'test', 'conformance');
const venv = join(root, '.venv-onnx');
const python = join(venv, ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']));
const build = join(root, 'build', 'conformance');
const cases = join(build, 'cases');

function run(file, args, stdio = 'inherit') {
  const { status, error } = spawnSync(file, args, { cwd: root, stdio });
  if (status === 0) return;
  console.error(`${file} ${args.join(' ')}: ${error?.message ?? `ended with code ${status}`}`);
  process.exit(1);
}

function prepareEnvironment() {
  const wanted = join(sources, 'requirements.txt');
  // A copy of what was installed, written last.
  const installed = join(venv, 'requirements.txt');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(wanted, 'utf8')) return;
  rmSync(venv, { recursive: true, force: true });
  run(process.platform === 'win32' ? 'python' : 'python3', ['-m', 'venv', venv]);
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', wanted]);
  copyFileSync(wanted, installed);
}

function buildBareRuntime() {
  const quiet = ['ignore', 'ignore', 'inherit'];
  run('cmake', ['-S', join(sources, 'native'), '-B', build], quiet);
  run('cmake', ['--build', build, '--config', 'Release', '--parallel', '2'], quiet);
  const name = process.platform === 'win32' ? 'bare_runtime.exe' : 'bare_runtime';
  return [join(build, name), join(build, 'Release', name)].find((file) => existsSync(file));
}

prepareEnvironment();
run(python, [join(sources, 'export.py'), cases]);
const program = buildBareRuntime();
const runner = join(root, 'dist', 'test', 'conformance', 'run.js');
const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const parts = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const result = spawnSync(
  process.execPath,
  ['--enable-source-maps', runner, ...options, cases, program, ...parts],
  { cwd: root, stdio: 'inherit' },
);
process.exitCode = result.status ?? 1;
