/** What docs/plugins.md says of functions. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './project.js';

/** The functions of Triton's interfaces that the page lists as refused. */
export async function refusedFunctions(): Promise<string[]> {
  const page = await readFile(join(root, 'docs', 'plugins.md'), 'utf8');
  const section = /## What is refused([^]*?)\nSome functions/.exec(page)?.[1] ?? '';
  return [...section.matchAll(/`(TRITON\w+)`/g)].map(([, name = '']) => name);
}
