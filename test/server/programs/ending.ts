/**
 * A process with a server that ends in one of several ways. Arguments: how it ends, and the folder of a repository with
 * the models `slow` (a run of ONNX Runtime of 200 ms) and `delay` (identity, 200 ms).
 */

import { createServer } from '../../../src/index.js';
import { row } from '../harness.js';

const [way = '', folder = ''] = process.argv.slice(2);
const server = await createServer(folder);

/** Two runs, one of each backend, which are under way when the next turn of the loop begins. */
async function occupy(): Promise<void> {
  for (const name of ['slow', 'delay']) server.infer(name, { x: row() }).catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
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
