// Checks the format of all C++ files, or corrects it with --write.
//
// The version is pinned, because versions format differently. It comes from PyPI into an ignored folder.
// Without Python the check is skipped, with a message.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const version = '19.1.7';
const venv = join(root, '.venv-format');
const tool = join(venv, 'bin', 'clang-format');

function install() {
  for (const [file, ...args] of [
    ['python3', '-m', 'venv', venv],
    [
      join(venv, 'bin', 'pip'),
      'install',
      '--quiet',
      '--disable-pip-version-check',
      `clang-format==${version}`,
    ],
  ]) {
    if (spawnSync(file, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) return false;
  }
  return true;
}

if (!existsSync(tool) && !install()) {
  console.log(
    `skipped: the format of C++ files was not checked: clang-format ${version} could not be installed from PyPI`,
  );
} else {
  const files = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '*.cc', '*.h'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)));
  const mode = process.argv.includes('--write') ? ['-i'] : ['--dry-run', '--Werror'];
  const result = spawnSync(tool, [...mode, ...files], { cwd: root, stdio: 'inherit' });
  process.exitCode = result.status ?? 1;
}
