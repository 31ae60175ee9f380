/** Creates a server of an empty repository with the tests' addon, and prints the outcome. */

import '../../support/fault-addon.js';
import { createServer, TritonError } from '../../../src/index.js';

console.log('ready');
try {
  const server = await createServer(process.argv[2] ?? '', { modelControlMode: 'explicit' });
  await server.close();
  console.log('went well');
} catch (error) {
  console.log(error instanceof TritonError ? `${error.code}: ${error.message}` : String(error));
}
