/**
 * A program whose agent copies a model, and which ends without closing its server. Arguments: the repository, a file for the copy's
 * place, and the signal that ends it, if it does not end itself.
 */

import { writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { createServer, registerRepositoryAgent } from '../../src/index.js';

const [, , repository = '', note = '', signal = ''] = process.argv;
registerRepositoryAgent('copies', {
  async load({ path, temporaryFolder }) {
    const folder = await temporaryFolder();
    await cp(path, folder, { recursive: true });
    writeFileSync(note, folder);
    return folder;
  },
});
const server = await createServer(repository);
await server.infer('m', { x: new Float32Array(16) });
if (signal !== '') process.kill(process.pid, signal);
process.exit();
