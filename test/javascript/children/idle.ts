/** A server with a model on a thread, which is idle and not closed: the process ends by itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer } from '../../../src/index.js';

/** The thread's output so far, which arrives by messages. */
let written = '';
for (const stream of [process.stdout, process.stderr]) {
  const write = stream.write.bind(stream);
  stream.write = (text: string | Uint8Array): boolean => {
    written += String(text);
    return write(text);
  };
}

const [repository = ''] = process.argv.slice(2);
const server = await createServer(repository);
const { outputs } = await server.infer('m', { x: new Float32Array(16) });
while (!written.includes('two') || !written.includes('three')) await sleep(1);
console.log(outputs['y']?.shape.join('x'));
