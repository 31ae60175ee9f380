// Where packages are put together, and how the one for this platform is called.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const staging = join(root, 'build', 'packages');
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** What is published of the owner: the address in `repository`, and the two that follow from it. */
export function addresses({ repository }) {
  const page = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  return { repository, bugs: { url: `${page}/issues` }, homepage: `${page}#readme` };
}
