/** Loads the package again and again, as test runners do. Arguments: a repository, and a folder for copies. */

import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as tritonts from '../../../src/index.js';
import { row } from '../../support/basics.js';
import { copyCode, root } from '../../support/project.js';

const [repository = '', folder = ''] = process.argv.slice(2);

/** Servers that are not closed. They are referenced to the end, because dropped servers cause warnings. */
const left: tritonts.InferenceServer[] = [];
process.once('exit', () => left.length);
for (let i = 0; i < 10; i++) {
  const copy = join(folder, String(i));
  await copyCode(copy);
  for (const shared of ['node_modules', 'build']) await symlink(join(root, shared), join(copy, shared));
  const { createServer } = (await import(
    pathToFileURL(join(copy, 'dist/src/index.js')).href
  )) as typeof tritonts;
  const server = await createServer(repository);
  await server.infer('echo', { x: row() });
  if (i % 2 === 0) await server.close();
  else left.push(server);
}
console.log('ready');
