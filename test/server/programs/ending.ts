/**
 * A process with a server that ends in one of several ways. Arguments: how it ends, and the folder of a
 * repository with models `slow` (an ONNX Runtime run of 200 ms) and `delay` (identity, 200 ms).
 */

import { createServer } from '../../../src/index.js';
import { row, turn } from '../../support/harness.js';

const [way = '', folder = ''] = process.argv.slice(2);
const server = await createServer(folder);

/** Starts a run of each backend. Both are under way in the next turn of the loop. */
async function occupy(): Promise<void> {
  for (const name of ['slow', 'delay']) server.infer(name, { x: row() }).catch(() => undefined);
  await turn();
}

switch (way) {
  case 'idle':
    console.log('idle');
    break;
  case 'answered': {
    await server.infer('delay', { x: row() });
    console.log('answered');
    break;
  }
  case 'in-flight':
    for (const name of ['slow', 'delay']) {
      void server.infer(name, { x: row() }).then(({ model }) => {
        console.log(`${model.name} answered`);
      });
    }
    break;
  case 'closed':
    await server.close();
    console.log('closed');
    break;
  case 'exit':
    await occupy();
    process.exit(7);
    break;
  case 'throw':
    await occupy();
    throw new Error('thrown on purpose');
  case 'exit-code':
    process.exitCode = 5;
    await server.infer('delay', { x: row() });
    break;
  case 'exit-in-handler':
    await server.infer('delay', { x: row() }).then(() => process.exit(9));
    break;
  case 'exit-while-closing':
    await occupy();
    void server.close();
    process.exit(6);
    break;
  case 'exit-while-loading':
    void createServer(folder);
    setTimeout(() => process.exit(4), 2);
    break;
}
