/**
 * Receives `count` outputs of `width` floats, reads none of them, and prints the most memory that this took.
 */

import { createServer } from '../../../src/index.js';
import { row } from '../../support/harness.js';

const [repository = '', count = '', width = ''] = process.argv.slice(2);
const server = await createServer(repository);
const x = row(1, Number(width));
await server.infer('echo', { x });
const before = process.memoryUsage.rss();
let most = before;
for (let i = 0; i < Number(count); i += 8) {
  await Promise.all(Array.from({ length: 8 }, () => server.infer('echo', { x })));
  most = Math.max(most, process.memoryUsage.rss());
}
console.log(`grown ${Math.round((most - before) / 1e6)} MB`);
await server.close();
