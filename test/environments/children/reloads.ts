/**
 * Loads the package again and again, as test runners do. Arguments: a repository, the package, and a folder
 * for copies.
 */

import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as tritonts from '../../../src/index.js';
import { row } from '../../support/harness.js';

const [repository = '', root = '', folder = ''] = process.argv.slice(2);

/** Servers that are not closed. They are kept to the end, because dropped servers cause warnings. */
const left: tritonts.InferenceServer[] = [];
process.once('exit', () => left.length);
for (let i = 0; i < 20; i++) {
  const copy = join(folder, String(i));
  await cp(join(root, 'dist/src'), join(copy, 'dist/src'), { recursive: true });
  for (const shared of ['package.json', 'node_modules', 'build']) {
    await symlink(join(root, shared), join(copy, shared));
  }
  const { createServer } = (await import(
    pathToFileURL(join(copy, 'dist/src/index.js')).href
  )) as typeof tritonts;
  const server = await createServer(repository);
  await server.infer('echo', { x: row() });
  if (i % 2 === 0) await server.close();
  else left.push(server);
}
console.log('ready');
