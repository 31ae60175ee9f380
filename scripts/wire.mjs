// npm run bench -- wire: makes what the comparison with Triton's own server needs, and runs it. The server, its Python
// backend and perf_analyzer come from wheels of PyPI, into ignored folders.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import * as perfAnalyzer from './clients/perf-analyzer-program.mjs';
import { pythonWith, root } from './python-environment.mjs';

/** The folder with the server and its backends, and the Python that its models get. */
function makeTriton() {
  const folder = '.venv-wire';
  const python = pythonWith(join(root, 'bench', 'wire', 'requirements.txt'), folder);
  // The server's stub needs numpy before version 2: with a later one its outputs are empty. NVIDIA's wheel has dependencies of its Python code, which is not used.
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
  const server = 'nvidia-pytriton==0.7.0';
  const tell = 'import sys, sysconfig; print(sysconfig.get_path("purelib"), *sys.version_info[:2])';
  const said = spawnSync(python, ['-c', tell], { encoding: 'utf8' });
  const [packages, major, minor] = said.stdout.trim().split(' ');
  const triton = join(packages, 'pytriton', 'tritonserver');
  if (!existsSync(triton) && spawnSync(python, [...pip, server], { stdio: 'inherit' }).status !== 0)
    throw new Error(`pip cannot install ${server}`);
  // As its own Python does: each version of Python has a stub.
  const stub = join(triton, 'python_backend_stubs', `${major}.${minor}`, 'triton_python_backend_stub');
  if (!existsSync(stub)) throw new Error(`${server} has no stub for Python ${major}.${minor}`);
  const place = join(triton, 'backends', 'python', 'triton_python_backend_stub');
  copyFileSync(stub, place);
  for (const program of [place, join(triton, 'bin', 'tritonserver')]) chmodSync(program, 0o755);
  return { python, packages, triton, libraries: join(packages, 'nvidia_pytriton.libs') };
}

const why = perfAnalyzer.missing();
if (why !== undefined) throw new Error(`perf_analyzer is missing: ${why}`);
const { python, packages, triton, libraries } = makeTriton();
const { measureWire } = await import('../dist/bench/wire/main.js');
await measureWire(
  {
    perfAnalyzer: { program: perfAnalyzer.program, env: perfAnalyzer.env },
    python,
    triton: {
      program: join(triton, 'bin', 'tritonserver'),
      backends: join(triton, 'backends'),
      env: {
        ...process.env,
        PATH: `${join(python, '..')}:${process.env.PATH}`,
        // Its stub embeds Python, which looks for packages of the system.
        PYTHONPATH: packages,
        LD_LIBRARY_PATH: libraries,
      },
    },
  },
  process.argv.slice(2),
);
