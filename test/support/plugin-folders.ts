/** The caches and repository agents of `native/test/plugins`, which are built with the fakes. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './project.js';

/** The folder with a folder for each cache. */
export const cacheFolder: string = join(root, 'build', 'fakes', 'caches');
/** The folder with a folder for each agent. */
export const agentFolder: string = join(root, 'build', 'fakes', 'agents');

/** The reason to skip tests that need them; false: none. */
export const skip: string | false =
  process.platform !== 'linux'
    ? 'plug-ins of Triton run on Linux alone'
    : existsSync(cacheFolder) && existsSync(agentFolder)
      ? false
      : 'the plug-ins of the tests are missing: npm run build makes them';
if (skip !== false) console.error(`skipped: ${skip}`);
