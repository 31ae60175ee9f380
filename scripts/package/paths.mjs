// The folders in which packages are put together, and the name of this platform's package.
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
