/**
 * A process that loads many models once, with tritonts or into sessions of onnxruntime-node, and prints how
 * long that took or how much memory it has then: node loading.js <folder> <kind> <count> <loading threads>
 * <what>. 0 threads stands for onnxruntime-node, 'silent' for onnxruntime-node without its telemetry, which
 * tritonts never switches on.
 */
import { join } from 'node:path';
import { createServer, type InferenceServer } from '../../src/index.js';
import { openSession } from '../contestants/session.js';
import type { OrtSession } from '../../test/support/onnx/run.js';
import { kindOf, modelNames } from './names.js';

const [folder = '', kind = '', count = '', loaders = '', what = ''] = process.argv.slice(2);
// Things that are loaded once, such as the library, are loaded before the measurement. For memory, V8's heap also
// grows before it.
const before = what === 'memory' ? 150 : 1;
const all = modelNames(Number(count) + before, kindOf(kind));
const names = all.slice(before);
const sessions: OrtSession[] = [];
/** Keeps servers alive. An unreachable server would be closed after garbage collection, during the measurement. */
const servers: InferenceServer[] = [];

/** Each session has one thread: with more, each would have a pool of its own. */
async function openSessions(some: readonly string[]): Promise<void> {
  for (const name of some) sessions.push(await openSession(join(folder, name, '1', 'model.onnx'), 1));
}

async function serve(some: readonly string[]): Promise<void> {
  const server = await createServer(folder, {
    modelControlMode: 'explicit',
    loadModels: some,
    modelLoadConcurrency: Number(loaders),
    threads: 1,
  });
  servers.push(server);
}

function memory(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage.rss();
}

// The library reads this variable when it is opened.
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
