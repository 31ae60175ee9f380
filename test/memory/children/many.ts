/**
 * Keeps `count` requests of `width` floats in flight at once until it writes the file `release`. It prints how much
 * memory they take then, and when they are answered. It needs --expose-gc, because it depends on the machine when
 * V8 collects by itself.
 */

import { writeFile } from 'node:fs/promises';
import { createServer, type InferResult } from '../../../src/index.js';
import { row, turn } from '../../support/harness.js';

const [repository = '', countText = '', widthText = '', release = ''] = process.argv.slice(2);
const count = Number(countText);
const width = Number(widthText);

function resident(): number {
  globalThis.gc?.();
  return process.memoryUsage.rss();
}

const server = await createServer(repository);
const x = row(1, width);
// These requests create everything that a process creates only once.
await Promise.all(Array.from({ length: 100 }, () => server.infer('echo', { x: row(1) })));
const before = resident();
const tell = (what: string): void => {
  console.log(`${what}: ${Math.round((resident() - before) / 1e6)} MB`);
};
let ended = 0;
const take = (result: InferResult): InferResult => {
  ended++;
  return result;
};
const requests = Array.from({ length: count }, () => server.infer('held', { x }).then(take));
await turn();
console.log(`${count - ended} in flight`);
tell('in flight');
await writeFile(release, '');
const results = await Promise.all(requests);
tell('answered');
const right = results.filter(({ outputs }) => outputs['y']?.as('FP32').data[width - 1] === width).length;
console.log(`${right} right`);
await server.close();
