/** A worker that owns a server, and is terminated while native code feeds it. */
import { parentPort, workerData } from 'node:worker_threads';
import { feed } from '../children/frames-feed.js';

const { file } = workerData as { readonly file: string };
await feed(file);
parentPort?.postMessage('fed');
setInterval(() => undefined, 1000);
