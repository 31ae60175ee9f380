/** What the owner of a cache does when the cache, the engine or the close come at a bad moment. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { NativeCache } from '../../../src/addon/native/cache.js';
import type { NativeServer } from '../../../src/addon/native/server.js';
import { CacheOwner } from '../../../src/cache/cache-owner.js';
import { openCache } from '../../../src/cache/open-cache.js';
import type { CachedValue, ResponseCache } from '../../../src/cache/response-cache.js';
import { ignore } from '../../../src/logger.js';
import { turn } from '../../support/harness.js';

/** An engine that asks for one key, and notes what it is told. */
class FakeEngine implements NativeCache {
  readonly modes: string[] = [];
  readonly answers: (readonly CachedValue[] | undefined)[] = [];
  readonly lines: string[] = [];
  readonly owner: CacheOwner;
  fails: 'lookups' | 'answer' | undefined;
  #batch = 0;
  #waiting = false;
  #wake: () => void = ignore as () => void;

  constructor(cache: Partial<ResponseCache>, timeoutMs = 1000) {
    const warn = (line: string): void => void this.lines.push(line);
    const log = { error: warn, warn, info: ignore, verbose: ignore };
    const whole = { lookup: () => [undefined], insert: ignore as () => void, ...cache };
    this.owner = new CacheOwner('fake', whole, timeoutMs, log);
    const server: Pick<NativeServer, 'attachCache'> = {
      attachCache: (wake) => {
        this.#wake = wake;
        return this;
      },
    };
    // What the owner uses of a server.
    this.owner.attach(server as NativeServer);
  }

  ask(): void {
    this.#waiting = true;
    this.#wake();
  }

  lookups(): { readonly batch: number; readonly keys: readonly string[] } | undefined {
    if (this.fails === 'lookups') throw new Error('no memory for keys');
    if (!this.#waiting) return undefined;
    this.#waiting = false;
    return { batch: ++this.#batch, keys: ['key'] };
  }

  entries(): readonly [] {
    return [];
  }

  answer(_batch: number, values: readonly CachedValue[] | undefined): void {
    if (this.fails === 'answer') throw new Error('no memory for values');
    this.answers.push(values);
  }

  setMode(mode: 'open' | 'paused' | 'probe'): void {
    this.modes.push(mode);
  }

  detach(): void {
    this.modes.push('detached');
  }
}

test('an engine without memory for the results asks again, and the cache is not said to answer', async () => {
  const engine = new FakeEngine({});
  engine.fails = 'answer';
  engine.ask();
  assert.deepEqual(engine.modes, ['open']);
  assert.equal(engine.owner.up, false);
  assert.equal(engine.lines.length, 1);
  assert.match(
    engine.lines[0] ?? '',
    /^response cache 'fake': no memory for values; requests run without it/,
  );
  engine.fails = undefined;
  engine.ask();
  assert.equal(engine.owner.up, true);
  await engine.owner.close();
});

test('an engine without memory for the keys rests, and then asks once', async () => {
  const engine = new FakeEngine({});
  engine.fails = 'lookups';
  engine.ask();
  assert.deepEqual([engine.modes, engine.owner.up], [['paused'], false]);
  engine.fails = undefined;
  await wait(1100);
  assert.deepEqual(engine.modes, ['paused', 'probe']);
  engine.ask();
  assert.deepEqual([engine.modes, engine.owner.up], [['paused', 'probe', 'open'], true]);
  await engine.owner.close();
});

test('a failure at once leaves the pause of a look-up that took too long alone', async () => {
  const fail: ((error: Error) => void)[] = [];
  const engine = new FakeEngine({ lookup: () => new Promise((_, reject) => fail.push(reject)) }, 20);
  engine.ask();
  await wait(10);
  engine.ask();
  while (!engine.modes.includes('paused')) await turn();
  fail[1]?.(new Error('late'));
  await turn();
  assert.deepEqual(engine.modes, ['paused']);
  await engine.owner.close();
});

test('values are copied by position: no iterator of the program runs', async () => {
  const bytes = Uint8Array.of(1);
  const values = [bytes];
  Object.defineProperty(values, Symbol.iterator, {
    value: function* () {
      for (;;) yield* [bytes, bytes];
    },
  });
  const shared = new Uint8Array(new SharedArrayBuffer(1));
  Object.defineProperty(shared, Symbol.iterator, { value: () => assert.fail('an iterator ran') });
  const lists = [values, [shared]];
  const engine = new FakeEngine({ lookup: () => lists.shift() ?? [] });
  engine.ask();
  engine.ask();
  assert.deepEqual(engine.answers, [[bytes], [Uint8Array.of(0)]]);
  assert.deepEqual(engine.lines, []);
  await engine.owner.close();
});

test('close ends look-ups, and nothing is logged or asked afterwards', async () => {
  const signals: AbortSignal[] = [];
  let fail: (error: Error) => void = ignore as () => void;
  const engine = new FakeEngine(
    {
      lookup: (_, signal) => {
        signals.push(signal);
        return new Promise(ignore as () => void);
      },
      close: () => new Promise((_, reject) => (fail = reject)),
    },
    1050,
  );
  engine.ask();
  const closed = engine.owner.close();
  engine.ask();
  await closed;
  assert.equal(signals.length, 1);
  assert.match(String(signals[0]?.reason), /the server has closed/);
  fail(new Error('too late'));
  await wait(150);
  assert.deepEqual([engine.lines, engine.answers, engine.modes], [[], [], ['detached']]);
});

test('a cache is not made for a server whose start is cancelled already', async () => {
  let made = 0;
  const make = (): Promise<ResponseCache> => {
    made++;
    return Promise.resolve({ lookup: () => [], insert: ignore as () => void });
  };
  const log = { error: ignore, warn: ignore, info: ignore, verbose: ignore };
  const remoteCache = { name: 'fake', lookupTimeoutMs: 1000, make };
  const cause = new Error('given up');
  await assert.rejects(openCache({ remoteCache, log }, AbortSignal.abort(cause)), {
    code: 'CANCELLED',
    cause,
  });
  assert.equal(made, 0);
});
