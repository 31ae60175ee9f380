/** Loads the package again and again, as test runners do: a repository, the package, and a folder for copies. */

import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as tritonts from '../../../src/index.js';
import { row } from '../../server/harness.js';

const [repository = '', root = '', folder = ''] = process.argv.slice(2);

/** Which are not closed, and would be told of if they were dropped: held to the end. */
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
