// The folders in which packages are put together, and what all packages need.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const staging = join(root, 'build', 'packages');
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The owner's public addresses: the one in `repository`, and two that follow from it. */
export function addresses({ repository }) {
  const page = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  return { repository, bugs: { url: `${page}/issues` }, homepage: `${page}#readme` };
}

/** Packs a folder into a tarball in another folder, by default build/packages. Returns the tarball's path. */
export function pack(folder, to = staging) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', to];
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }));
  return join(to, filename);
}
