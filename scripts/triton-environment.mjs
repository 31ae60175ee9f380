// Creates a Python environment with Triton's own server, its Python backend and its local cache, from NVIDIA's wheel on PyPI,
// in an ignored folder.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { makePython } from './python-environment.mjs';

const wheel = 'nvidia-pytriton==0.7.0';

/**
 * Creates the environment, or uses one that is there. Throws an Error if the wheel cannot be had, or has nothing for this Python.
 *
 * @param requirements - The file of the packages of its Python. The stub of Python models needs a numpy before version 2:
 *   with a later one its outputs are empty.
 */
export function tritonEnvironment(requirements, folder) {
  const python = makePython(requirements, folder);
  const tell = 'import sys, sysconfig; print(sysconfig.get_path("purelib"), *sys.version_info[:2])';
  const [packages, major, minor] = spawnSync(python, ['-c', tell], { encoding: 'utf8' })
    .stdout.trim()
    .split(' ');
  const triton = join(packages, 'pytriton', 'tritonserver');
  // The dependencies are those of NVIDIA's Python code, which is not used.
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', wheel];
  if (!existsSync(triton) && spawnSync(python, install, { stdio: 'inherit' }).status !== 0)
    throw new Error(`pip cannot install ${wheel}`);
  // As its own Python does: each version of Python has a stub.
  const stub = join(triton, 'python_backend_stubs', `${major}.${minor}`, 'triton_python_backend_stub');
  if (!existsSync(stub)) throw new Error(`${wheel} has no stub for Python ${major}.${minor}`);
  const place = join(triton, 'backends', 'python', 'triton_python_backend_stub');
  if (!existsSync(place)) copyFileSync(stub, place);
  const program = join(triton, 'bin', 'tritonserver');
  for (const file of [place, program]) chmodSync(file, 0o755);
  return {
    python,
    program,
    stub: place,
    backends: join(triton, 'backends'),
    caches: join(triton, 'caches'),
    libraries: join(packages, 'nvidia_pytriton.libs'),
    /** What the stub needs: it embeds Python, which looks for packages of the system. */
    env: { PATH: `${join(python, '..')}:${process.env.PATH}`, PYTHONPATH: packages },
  };
}
