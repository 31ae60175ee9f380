/** Readers of different pace: unread responses are bounded, and no reader starves another. */
// Own process: it measures the memory of the process.
// Long: it moves much data.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { serve, statisticsAfter, until } from '../support/harness.js';
import { asking, numberOf, readAll, streaming, upTo } from './harness.js';

/** The most that a stream may leave unread. */
const mostUnread = 16 << 20;

void suite('what nobody has read', () => {
  test('a model that waits for its reader sends a few responses ahead, and all in the end', async (t) => {
    const server = await serve(t, { m: streaming() });
    const seen: number[] = [];
    for await (const result of server.model('m').stream(asking(100))) {
      seen.push(numberOf(result));
      if (seen.length % 10 === 0) await sleep(1);
    }
    assert.deepEqual(seen, upTo(100));
  });

  test('a model that does not wait ends with UNAVAILABLE, behind what was sent before', async (t) => {
    const server = await serve(t, { m: streaming() });
    const size = 1000;
    const stream = server.model('m').stream(asking(1_000_000, 'greedy', size));
    await statisticsAfter(server, 'm', 1);
    const { numbers, error } = await readAll(stream);
    assert.deepEqual(numbers, upTo(numbers.length));
    assert.equal(error?.code, 'UNAVAILABLE');
    assert.match(error.message, /model 'm'.*16777216 bytes/);
    const most = mostUnread / (512 + 4 * size);
    assert.ok(Math.abs(numbers.length - most) <= 1, `${numbers.length} of ${most}`);
  });

  test('the bytes in flight bound it, too, and room is made by reading', async (t) => {
    const server = await serve(t, { m: streaming() }, { maxInFlightBytes: 2 << 20 });
    const stream = server.model('m').stream(asking(1_000_000, 'greedy', 1000));
    await statisticsAfter(server, 'm', 1);
    const refused = await readAll(server.model('m').stream(asking(1)));
    assert.equal(refused.error?.code, 'UNAVAILABLE');
    assert.equal((await readAll(stream)).error?.code, 'UNAVAILABLE');
    assert.deepEqual((await readAll(server.model('m').stream(asking(50)))).numbers, upTo(50));
  });

  test('whoever leaves gives the room back', async (t) => {
    const server = await serve(t, { m: streaming() }, { maxInFlightBytes: 2 << 20 });
    const stream = server.model('m').stream(asking(1_000_000, 'greedy', 1000));
    await statisticsAfter(server, 'm', 1);
    await stream.return?.();
    // Responses that were under way are dropped when they arrive.
    await until(async () => (await readAll(server.model('m').stream(asking(1)))).error === undefined);
    assert.deepEqual((await readAll(server.model('m').stream(asking(50)))).numbers, upTo(50));
  });

  test('a hundred readers that stop keep nobody from reading', async (t) => {
    const server = await serve(t, { m: streaming() });
    const model = server.model('m');
    const idle = Array.from({ length: 100 }, () => model.stream(asking(1_000_000, 'apart', 100)));
    await Promise.all(idle.map((stream) => stream.next()));
    assert.deepEqual((await readAll(model.stream(asking(5000)))).numbers, upTo(5000));
    for (const stream of idle) await stream.return?.();
  });
});

test('a stream of a million responses keeps the memory flat', { timeout: 300_000 }, async (t) => {
  const server = await serve(t, { m: streaming({ parameters: { ahead: 512 } }) });
  const samples: number[] = [];
  let next = 0;
  for await (const result of server.model('m').stream(asking(1_000_000))) {
    assert.equal(numberOf(result), next++);
    if (next % 100_000 === 0) samples.push(process.memoryUsage.rss());
  }
  assert.equal(next, 1_000_000);
  // Compare after the first tenths, in which heaps and pools reach their size.
  const [early = 0, last = 0] = [samples[2], samples.at(-1)];
  assert.ok(last - early < 64 << 20, `grew by ${(last - early) >> 20} MiB: ${samples.join()}`);
});
