/** Has `count` requests of `width` floats in flight at once, and tells how much memory that took. */

import { createServer } from '../../../src/index.js';
import { row } from '../../server/harness.js';

const [repository = '', countText = '', widthText = ''] = process.argv.slice(2);
const count = Number(countText);
const width = Number(widthText);
const server = await createServer(repository);
const x = row(1, width);
// What is made once for a process is there before.
await Promise.all(Array.from({ length: 100 }, () => server.infer('echo', { x: row(1) })));
const before = process.memoryUsage.rss();
let ended = 0;
let right = 0;
const requests = Array.from({ length: count }, () =>
  server.infer('echo', { x }).then(({ outputs }) => {
    ended++;
    if (outputs['y']?.as('FP32').data[width - 1] === width) right++;
  }),
);
const tell = (): void => {
  console.log(`${count - ended} in flight`);
};
tell();
// The engine has all of them by then.
setImmediate(tell);
let most = process.memoryUsage.rss();
const timer = setInterval(() => {
  most = Math.max(most, process.memoryUsage.rss());
}, 2);
await Promise.all(requests);
clearInterval(timer);
most = Math.max(most, process.memoryUsage.rss());
console.log(`${right} right`);
console.log(`grown ${Math.round((most - before) / 1e6)} MB`);
await server.close();
