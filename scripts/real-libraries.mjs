// Installs TensorRT's libraries and a GPU build of ONNX Runtime from PyPI into an ignored folder, and runs the tests that
// use them without a GPU: npm test -- real-libraries
//
// The libraries are NVIDIA's and Microsoft's, under their licences. Downloads 440 MB, and needs 1.1 GB of disk.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './python-environment.mjs';

const wanted = join(root, 'native', 'test', 'real', 'requirements.txt');
const folder = join(root, '.venv-libraries');
const installed = join(folder, 'requirements.txt');
/** The oldest TensorRT on PyPI as a plain wheel, for a Python of its time. It contains a library and has no dependencies. */
const old = ['--python-version', '310', '--only-binary=:all:', 'tensorrt-dispatch==8.6.0'];

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log('skipped: the packages of PyPI are for Linux on x64');
  process.exit(0);
}
if (spawnSync('python3', ['-c', 'import venv, ensurepip']).status !== 0) {
  console.log('skipped: needs Python 3 with venv');
  process.exit(0);
}
if (!existsSync(installed) || readFileSync(installed, 'utf8') !== readFileSync(wanted, 'utf8')) {
  rmSync(folder, { recursive: true, force: true });
  run('python3', ['-m', 'venv', folder]);
  // Only the libraries: without their Python dependencies, and without CUDA and cuDNN (2 GB).
  const pip = [...['-m', 'pip', 'install', '--quiet'], '--disable-pip-version-check', '--no-deps'];
  run(join(folder, 'bin', 'python'), [...pip, '--target', join(folder, 'libraries'), '-r', wanted]);
  run(join(folder, 'bin', 'python'), [...pip, '--target', join(folder, 'old'), ...old]);
  copyFileSync(wanted, installed);
}

/** Paths of the libraries with such names. */
function find(where, pattern) {
  return readdirSync(join(folder, where), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
const tensorrt = find('libraries', /^lib(nvinfer_lean|nvinfer_dispatch|tensorrt_rtx)\.so/);
const [onnxruntime] = find('libraries', /^libonnxruntime\.so/);
const [eight] = find('old', /^libnvinfer_dispatch\.so/);
console.log(
  "skipped: libnvinfer itself, which PyPI has for versions before 10 only; with TensorRT's engines and contexts",
);
run(process.execPath, [join(root, 'scripts', 'native-tests.mjs'), '--filter', 'real_libraries'], 'inherit', {
  TRITONTS_REAL_TENSORRT: tensorrt.join(':'),
  TRITONTS_REAL_OLD_TENSORRT: eight,
  TRITONTS_REAL_ORT_GPU: onnxruntime,
});
