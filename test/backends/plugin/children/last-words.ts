/** Exits while the log has not taken all messages of a plug-in. Arguments: a repository, the folder of the plug-ins. */

import { writeSync } from 'node:fs';
import { createServer } from '../../../../src/index.js';

const [repository = '', backendDirectory = ''] = process.argv.slice(2);
const lines: string[] = [];
const server = await createServer(repository, {
  backendDirectory,
  logger: {
    warn: (message) => {
      lines.push(message);
    },
  },
});
process.on('exit', () => {
  // In one piece, because the other end may be slow.
  writeSync(1, lines.join('\n'));
});
server.infer('breaker', { x: [[1]] }, { parameters: { break: 'logs' } }).catch(() => undefined);
// The request is sent within this turn of the event loop, in which no message is taken.
for (let ticks = 0; ticks < 20; ticks++) {
  await new Promise<void>((resolve) => {
    process.nextTick(resolve);
  });
}
// The plug-in writes while the event loop stands still.
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
lines.push(`exits after ${lines.length}`);
process.exit(7);
