import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { identity, onnx, row, serve } from './harness.js';

const skip = existsSync('/proc/self/schedstat') ? false : 'needs /proc/self/task/<id>/schedstat';

/** Nanoseconds of processor time and number of times on a core, of each thread of the engine. */
async function engineThreads(): Promise<ReadonlyMap<string, string>> {
  const threads = new Map<string, string>();
  for (const id of await readdir('/proc/self/task')) {
    const read = (file: string): Promise<string> => readFile(`/proc/self/task/${id}/${file}`, 'utf8');
    try {
      const name = (await read('comm')).trim();
      if (!name.startsWith('tritonts')) continue;
      const [ns, , times] = (await read('schedstat')).trim().split(' ');
      threads.set(`${name} ${id}`, `${ns ?? ''} ns, ${times ?? ''} times`);
    } catch {
      // It ended meanwhile: some other test's.
    }
  }
  return threads;
}

test('an event loop that waits for a long run sleeps, however short the waits before', async (t) => {
  const server = await serve(t, { echo: identity(), slow: identity({ delayMs: 300 }) }, { inline: 'off' });
  for (let i = 0; i < 300; i++) await server.model('echo').infer({ x: row() });
  const before = performance.eventLoopUtilization();
  await server.model('slow').infer({ x: row() });
  const { active, idle } = performance.eventLoopUtilization(before);
  assert.ok(idle > 200, `idle for ${idle} ms, active for ${active} ms`);
});

suite('a server that is asked nothing', { skip }, () => {
  test('uses no processor time, also right after it was asked a lot', async (t) => {
    const server = await serve(t, { add: onnx(), echo: identity({ instances: 2 }) }, { inline: 'off' });
    for (let round = 0; round < 3; round++) {
      // Waits as short as they come: what makes threads look for their next batch before they sleep.
      for (let i = 0; i < 300; i++) {
        await Promise.all([
          server.model('add').infer({ x: row() }),
          server.model('echo').infer({ x: row() }),
        ]);
      }
      // More than the longest spin, however busy the machine.
      await sleep(100);
      const before = await engineThreads();
      assert.ok(before.size >= 3, [...before.keys()].join());
      await sleep(300);
      assert.deepEqual(await engineThreads(), before);
    }
  });
});
