// Own process: it measures the processor time of all threads.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { identity, onnx, row, serve, until } from '../support/harness.js';

// Wine shows the folder of Linux, too.
const isThere = process.platform === 'linux' && existsSync('/proc/self/schedstat');
const skip = isThere ? false : 'needs /proc/self/task/<id>/schedstat';

/** Processor time in nanoseconds, and the number of time slices, of each thread of the engine. */
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
      // A thread of another test has ended meanwhile.
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
  // An event loop that polls for the answer is never idle.
  assert.ok(idle > active, `idle for ${idle} ms, active for ${active} ms`);
});

suite('a server that is asked nothing', { skip }, () => {
  test('uses no processor time, also right after it was asked a lot', async (t) => {
    const server = await serve(t, { add: onnx(), echo: identity({ instances: 2 }) }, { inline: 'off' });
    for (let round = 0; round < 3; round++) {
      // These waits are very short, which makes threads spin before they sleep.
      for (let i = 0; i < 300; i++) {
        await Promise.all([
          server.model('add').infer({ x: row() }),
          server.model('echo').infer({ x: row() }),
        ]);
      }
      // On a busy machine the last spin may end late. A thread that wakes up by itself would never be at rest.
      let before = await engineThreads();
      assert.ok(before.size >= 3, [...before.keys()].join());
      await until(async () => {
        await sleep(300);
        const last = before;
        before = await engineThreads();
        return isDeepStrictEqual(before, last);
      });
    }
  });
});
