/**
 * Loads, asks and unloads Python models many times. Fails if a process, a descriptor, shared memory or a file is
 * left. In every fourth cycle the process is killed while it runs a request.
 *
 *     npm test -- soak-python [--cycles 1000]
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createServer } from '../../src/index.js';
import { adds, script, skip, withPython } from '../python/harness.js';
import { floats, row, until } from '../support/harness.js';
import { writeRepository } from '../support/repository.js';

const { values } = parseArgs({ options: { cycles: { type: 'string', default: '1000' } } });
const cycles = Number(values.cycles);
if (!(cycles >= 1)) {
  console.error('soak-python: --cycles: expected a number of at least 1');
  process.exit(2);
}
// The harness has printed the reason.
if (skip !== false) process.exit();

function isStub(pid: string): boolean {
  try {
    const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('stub.py');
  } catch {
    return false;
  }
}

/** This process' resources, and files that are named after this package. */
function left(): Readonly<Record<string, number>> {
  const descriptors = readdirSync('/proc/self/fd');
  const memories = descriptors.filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).includes('tritonts');
    } catch {
      return false;
    }
  });
  const mapped = readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.includes('memfd:tritonts'));
  const named = (folder: string, begin: string): number =>
    readdirSync(folder).filter((name) => name.startsWith(begin)).length;
  return {
    processes: readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isStub(name)).length,
    descriptors: descriptors.length,
    memories: memories.length,
    mapped: mapped.length,
    threads: readdirSync('/proc/self/task').length,
    segments: named('/dev/shm', 'tritonts'),
    files: named(tmpdir(), 'tritonts-python-'),
  };
}

const dies = `def execute(self, requests):
    if array(requests[0])[0, 0] == 1000:
        os._exit(1)
    return [answer(array(request) + 1) for request in requests]`;

const folder = mkdtempSync(join(tmpdir(), 'tritonts-soak-'));
try {
  const repository = await writeRepository(folder, {
    add: script(adds),
    dies: script(dies, { instances: 2 }),
  });
  const server = await createServer(repository, withPython({ modelControlMode: 'explicit' }));
  const cycle = async (k: number): Promise<void> => {
    const name = k % 2 === 0 ? 'add' : 'dies';
    await server.loadModel(name);
    assert.deepEqual(floats(await server.infer(name, { x: row(k % 100) })), [...row((k % 100) + 1)]);
    if (k % 4 === 1) await assert.rejects(server.infer(name, { x: row(1000) }), { code: 'UNAVAILABLE' });
    await server.unloadModel(name);
  };
  for (let k = 0; k < 8; k++) await cycle(k);
  const before = left();
  assert.equal(before['processes'], 0);
  const begin = performance.now();
  const rss = process.memoryUsage.rss();
  for (let k = 0; k < cycles; k++) {
    await cycle(k);
    if ((k + 1) % 250 === 0)
      console.log(`${k + 1} cycles, ${Math.round((performance.now() - begin) / 1000)} s`);
  }
  const isBack = (): boolean => Object.entries(left()).every(([what, count]) => count <= (before[what] ?? 0));
  await until(isBack, 10_000).catch(() => {
    throw new Error(`left behind: ${JSON.stringify(left())}; before: ${JSON.stringify(before)}`);
  });
  const grown = (process.memoryUsage.rss() - rss) / 2 ** 20;
  console.log(
    `${cycles} cycles: nothing is left: ${JSON.stringify(left())}; rss ${grown.toFixed(1)} MiB more`,
  );
  await server.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
