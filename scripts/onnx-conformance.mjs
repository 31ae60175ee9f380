// Runs the test cases that the Python package `onnx` publishes through createServer: npm test -- onnx [--
// options].
//
// It puts a Python environment with that package, the cases as a model repository, and a program that runs a
// case in the bare ONNX Runtime into ignored folders. Then test/conformance/run.ts, which has the options,
// runs the cases.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pythonWith, root, run } from './python-environment.mjs';

const sources = join(root, 'test', 'conformance');
const build = join(root, 'build', 'conformance');
const cases = join(build, 'cases');

function buildBareRuntime() {
  const quiet = ['ignore', 'ignore', 'inherit'];
  run('cmake', ['-S', join(sources, 'native'), '-B', build], quiet);
  run('cmake', ['--build', build, '--config', 'Release', '--parallel', '2'], quiet);
  const name = process.platform === 'win32' ? 'bare_runtime.exe' : 'bare_runtime';
  return [join(build, name), join(build, 'Release', name)].find((file) => existsSync(file));
}

const python = pythonWith(join(sources, 'requirements.txt'), '.venv-onnx');
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
