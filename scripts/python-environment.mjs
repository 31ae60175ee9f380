// Creates a Python environment in an ignored folder, with the packages of a requirements file.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs a program to its end. Throws an Error if it fails. */
function succeed(file, args, stdio = 'inherit', env = {}) {
  const { status, error } = spawnSync(file, args, { cwd: root, stdio, env: { ...process.env, ...env } });
  if (status !== 0)
    throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? `ended with code ${status}`}`);
}

/** Returns the result of the function. If it throws, this process exits with the message. */
function orExit(work) {
  try {
    return work();
  } catch (error) {
    console.error(error.message);
    return process.exit(1);
  }
}

/** Runs a program to its end. If it fails, this process exits. */
export function run(file, args, stdio, env) {
  orExit(() => succeed(file, args, stdio, env));
}

/**
 * Creates the environment, or uses one with the same packages. Returns the path of its Python. Throws an Error if that fails.
 *
 * @param wanted - The requirements file, or several ones.
 */
export function makePython(wanted, folder) {
  const venv = join(root, folder);
  const python = join(
    venv,
    ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']),
  );
  const files = [wanted].flat();
  const requirements = files.map((file) => readFileSync(file, 'utf8')).join('');
  // A copy of the requirements, which is written after the installation.
  const installed = join(venv, 'requirements.txt');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === requirements) return python;
  rmSync(venv, { recursive: true, force: true });
  succeed(process.platform === 'win32' ? 'python' : 'python3', ['-m', 'venv', venv]);
  succeed(python, [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    ...files.flatMap((file) => ['-r', file]),
  ]);
  writeFileSync(installed, requirements);
  return python;
}

/** The same. If it fails, this process exits. */
export function pythonWith(wanted, folder) {
  return orExit(() => makePython(wanted, folder));
}
