/**
 * A process that loads many models once, by our server or into sessions of onnxruntime-node, and says how long that took
 * or how much memory it has then: node loading.js <folder> <kind> <count> <threads of loading> <what>. 0 threads of loading are
 * onnxruntime-node, 'silent' onnxruntime-node without its telemetry, which is never on in our server.
 */
import { join } from 'node:path';
import { createServer } from '../../src/index.js';
import { openSession } from '../contestants/session.js';
import type { OrtSession } from '../../test/support/onnx/run.js';
import { kindOf, modelNames } from './models.js';

const [folder = '', kind = '', count = '', loaders = '', what = ''] = process.argv.slice(2);
// Before the clock starts: the library and what else is loaded once; where memory is asked for, also what V8's heap grows
// by whoever uses it.
const before = what === 'memory' ? 150 : 1;
const all = modelNames(Number(count) + before, kindOf(kind));
const names = all.slice(before);
const sessions: OrtSession[] = [];

/** One thread each: with sessions of one's own more would mean as many pools. */
async function openSessions(some: readonly string[]): Promise<void> {
  for (const name of some) sessions.push(await openSession(join(folder, name, '1', 'model.onnx'), 1));
}

async function serve(some: readonly string[]): Promise<void> {
  await createServer(folder, {
    modelControlMode: 'explicit',
    loadModels: some,
    modelLoadConcurrency: Number(loaders),
    threads: 1,
  });
}

function memory(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage.rss();
}

// Read by the library when it is opened.
if (loaders === 'silent') process.env['ORT_DISABLE_TELEMETRY'] = '1';
const load = loaders === '0' || loaders === 'silent' ? openSessions : serve;
await load(all.slice(0, before));
const bytes = memory();
const start = performance.now();
await load(names);
const milliseconds = performance.now() - start;
process.send?.(what === 'memory' ? (memory() - bytes) / names.length : milliseconds);
process.disconnect();
process.exit();
