/** The folder of downloaded files: what is shared, kept, evicted and cleaned up. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { chmod, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { CacheFolder, type WantedFile } from '../../../src/registry/sources/store/cache-folder.js';
import { cachePlaceOf, makePlace } from '../../../src/registry/sources/store/cache-place.js';
import { removeDeadLeases } from '../../../src/registry/files/process-lease.js';
import { insistently, StoreCallError } from '../../../src/registry/sources/store/retries.js';
import { PassingFault } from '../../../src/registry/sources/store/store-faults.js';
import { rejection } from '../../support/harness.js';
import { temporaryFolder, type Context } from '../../support/repository.js';

const { signal } = new AbortController();
const ignore = (): void => undefined;

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Counts its fetches. */
function wanted(name: string, text: string, fetched: string[] = []): WantedFile {
  return {
    path: `1/${name}.txt`,
    name,
    size: text.length,
    fetch: async (file) => {
      fetched.push(name);
      await file.write(text);
      return digestOf(text);
    },
  };
}

async function cacheOf(t: Context, most: number): Promise<CacheFolder> {
  return CacheFolder.at({ directory: await temporaryFolder(t), isPublic: false }, most, ignore);
}

/** The contents of the files, sorted. Each has the name of its content. */
async function files({ directory }: CacheFolder): Promise<string[]> {
  const texts: string[] = [];
  for (const digest of await readdir(join(directory, 'files'))) {
    const text = await readFile(join(directory, 'files', digest), 'utf8');
    assert.equal(digest, digestOf(text));
    texts.push(text);
  }
  return texts.sort();
}

const names = async ({ directory }: CacheFolder): Promise<string[]> =>
  (await readdir(join(directory, 'names'))).sort();

test('a file is fetched once, also by loads at the same time, and stays after them', async (t) => {
  const cache = await cacheOf(t, 1000);
  const fetched: string[] = [];
  const loads = await Promise.all(
    [1, 2, 3].map(() => cache.folderOf([wanted('aa', 'text', fetched)], signal)),
  );
  assert.deepEqual(fetched, ['aa']);
  for (const { directory } of loads)
    assert.equal(await readFile(join(directory, '1/aa.txt'), 'utf8'), 'text');
  for (const { release } of loads) await release();
  assert.deepEqual(await readdir(join(cache.directory, 'processes')), []);
  assert.deepEqual(await files(cache), ['text']);
});

test('objects of equal content share a file', async (t) => {
  const cache = await cacheOf(t, 10);
  const fetched: string[] = [];
  const same = ['aa', 'bb'].map((name) => wanted(name, 'text', fetched));
  const load = await cache.folderOf(same, signal);
  assert.deepEqual(fetched, ['aa', 'bb']);
  assert.deepEqual(await files(cache), ['text']);
  const stats = await Promise.all(['aa', 'bb'].map((name) => stat(join(load.directory, `1/${name}.txt`))));
  assert.equal(stats[0]?.ino, stats[1]?.ino);
  // A version that comes later uses the file of the load.
  const later = await cache.folderOf([wanted('cc', 'text', fetched)], signal);
  assert.equal((await stat(join(later.directory, '1/cc.txt'))).ino, stats[0]?.ino);
  await load.release();
  await later.release();
  // Each name is known by itself.
  fetched.length = 0;
  await (await cache.folderOf([...same, wanted('cc', 'text', fetched)], signal)).release();
  assert.deepEqual(fetched, []);
  // The names go with the file.
  await (await cache.folderOf([wanted('dd', '123456789')], signal)).release();
  assert.deepEqual(await files(cache), ['123456789']);
  assert.deepEqual(await names(cache), ['dd']);
});

test('a name that is damaged, or whose file is gone, is fetched again', async (t) => {
  const cache = await cacheOf(t, 1000);
  const fetched: string[] = [];
  const load = async (): Promise<void> => {
    const { directory, release } = await cache.folderOf([wanted('aa', 'text', fetched)], signal);
    assert.equal(await readFile(join(directory, '1/aa.txt'), 'utf8'), 'text');
    await release();
  };
  await load();
  const name = join(cache.directory, 'names', 'aa');
  for (const damage of [
    () => writeFile(name, ''),
    () => writeFile(name, '../../aa'),
    () => writeFile(name, digestOf('other')),
    () => rm(join(cache.directory, 'files', digestOf('text'))),
    () => rm(name),
  ]) {
    await damage();
    await load();
  }
  assert.equal(fetched.length, 6);
  await load();
  assert.equal(fetched.length, 6);
});

test('a file that was written to, or cut, is fetched again', async (t) => {
  const cache = await cacheOf(t, 1000);
  const fetched: string[] = [];
  const load = async (): Promise<void> => {
    const { directory, release } = await cache.folderOf([wanted('aa', 'text', fetched)], signal);
    assert.equal(await readFile(join(directory, '1/aa.txt'), 'utf8'), 'text');
    await release();
  };
  await load();
  const file = join(cache.directory, 'files', digestOf('text'));
  await chmod(file, 0o644);
  await writeFile(file, 'evil');
  await load();
  await chmod(file, 0o644);
  await writeFile(file, '');
  await load();
  await load();
  assert.deepEqual(fetched, ['aa', 'aa', 'aa']);
});

test('files that were used longest ago make room, and those of a load stay', async (t) => {
  const cache = await cacheOf(t, 10);
  const load = (name: string): ReturnType<CacheFolder['folderOf']> =>
    cache.folderOf([wanted(name, `${name}12`)], signal);
  const a = await load('aa');
  await (await load('bb')).release();
  await (await load('cc')).release();
  assert.deepEqual(await files(cache), ['aa12', 'cc12']);
  await a.release();
  await utimes(
    join(cache.directory, 'files', digestOf('cc12')),
    new Date(0),
    new Date('2000-01-01T00:00:00Z'),
  );
  await (await load('dd')).release();
  assert.deepEqual(await files(cache), ['aa12', 'dd12']);
  // More than the limit is loaded all the same.
  const whole = await cache.folderOf(
    ['ee', 'ff', 'gg'].map((name) => wanted(name, `${name}12`)),
    signal,
  );
  assert.equal((await readdir(join(whole.directory, '1'))).length, 3);
  await whole.release();
});

test('a fetch that fails leaves nothing, and neither does one that writes too little', async (t) => {
  const cache = await cacheOf(t, 1000);
  const broken: WantedFile = {
    ...wanted('aa', 'text'),
    fetch: async (file) => {
      await file.write('te');
      throw new RangeError('broken');
    },
  };
  await assert.rejects(cache.folderOf([broken, wanted('bb', 'b')], signal), /broken/);
  const short: WantedFile = {
    ...wanted('cc', 'text'),
    fetch: async (file) => (await file.write('t'), digestOf('t')),
  };
  await assert.rejects(cache.folderOf([short], signal), /1 bytes were written in place of 4/);
  assert.deepEqual(await readdir(join(cache.directory, 'processes')), []);
  assert.ok(!(await files(cache)).some((text) => text !== 'b'));
});

test('a folder that cannot be written is told of, with the option', async (t) => {
  const file = join(await temporaryFolder(t), 'file');
  await writeFile(file, '');
  const cache = CacheFolder.at({ directory: join(file, 'cache'), isPublic: false }, 10, ignore);
  const { code, message } = await rejection(cache.folderOf([wanted('aa', 'a')], signal));
  assert.equal(code, 'UNAVAILABLE');
  assert.match(message, /cannot be written: ENOTDIR.*repositoryCacheDirectory, --repository-cache-directory/);
});

test('the place is that of the option, of the variable of Triton, or one of this user', async (t) => {
  assert.deepEqual(cachePlaceOf('s3', '/mine', { TRITON_AWS_MOUNT_DIRECTORY: '/x' }), {
    directory: '/mine',
    isPublic: false,
  });
  for (const [scheme, name] of [
    ['s3', 'AWS'],
    ['gs', 'GCS'],
    ['as', 'AZURE'],
  ] as const) {
    assert.equal(
      cachePlaceOf(scheme, undefined, { [`TRITON_${name}_MOUNT_DIRECTORY`]: '/x' }).directory,
      '/x/tritonts-models',
    );
  }
  assert.match(cachePlaceOf('s3', undefined, {}).directory, /tritonts-models-\d+$/);
  const directory = join(await temporaryFolder(t), 'open');
  await mkdir(directory);
  await chmod(directory, 0o777);
  assert.match((await rejection(makePlace({ directory, isPublic: true }))).message, /other users may write/);
  await makePlace({ directory, isPublic: false });
  // The place of a variable: a volume has its own user and group, but not all users.
  const mounted = { directory, isPublic: true, isMounted: true };
  assert.match((await rejection(makePlace(mounted))).message, /other users may write/);
  await chmod(directory, 0o770);
  await makePlace(mounted);
});

test('the limit holds after a release, and for what was there before', async (t) => {
  const cache = await cacheOf(t, 3);
  const { release } = await cache.folderOf([wanted('aa', '1234')], signal);
  assert.deepEqual(await files(cache), ['1234']);
  await release();
  assert.deepEqual(await files(cache), []);
  // Another limit makes another cache of the same folder, as a restart does.
  const before = CacheFolder.at({ directory: cache.directory, isPublic: false }, 100, ignore);
  await (await before.folderOf([wanted('bb', '1234'), wanted('cc', '1')], signal)).release();
  const after = CacheFolder.at({ directory: cache.directory, isPublic: false }, 2, ignore);
  const held = await after.folderOf([wanted('cc', '1')], signal);
  assert.deepEqual(await files(after), ['1']);
  await held.release();
});

test('a folder without files is made', async (t) => {
  const cache = await cacheOf(t, 100);
  const { directory, release } = await cache.folderOf([wanted('aa', 'a')], signal, ['1/empty']);
  assert.deepEqual(await readdir(join(directory, '1')), ['aa.txt', 'empty']);
  await release();
});

/** A fetch that ends when its signal is aborted, and in no other way. */
const endless = (name: string, begun: () => void): WantedFile => ({
  ...wanted(name, 'text'),
  fetch: async (_file, ended) => {
    begun();
    return await new Promise<never>((_, reject) => {
      ended.addEventListener('abort', () => {
        reject(new RangeError('ended'));
      });
    });
  },
});

test('a file that fails ends the others of its load', async (t) => {
  const cache = await cacheOf(t, 100);
  let begun = (): void => undefined;
  const isBegun = new Promise<void>((resolve) => (begun = resolve));
  const broken: WantedFile = {
    ...wanted('aa', 'text'),
    fetch: async () => {
      await isBegun;
      throw new RangeError('broken');
    },
  };
  await assert.rejects(cache.folderOf([broken, endless('bb', begun)], signal), /broken/);
});

test("a load that waits for another one's download ends with its signal", async (t) => {
  const cache = await cacheOf(t, 100);
  const [first, second] = [new AbortController(), new AbortController()];
  let begun = (): void => undefined;
  const isBegun = new Promise<void>((resolve) => (begun = resolve));
  const long = cache.folderOf([endless('aa', begun)], first.signal);
  await isBegun;
  const waiting = cache.folderOf([wanted('aa', 'text')], second.signal);
  second.abort(new RangeError('closed'));
  await assert.rejects(waiting, /closed/);
  first.abort();
  await assert.rejects(long, /ended/);
});

test('folders of processes that have ended are removed, and no others', async (t) => {
  const all = await temporaryFolder(t);
  const cache = CacheFolder.at({ directory: all, isPublic: false }, 10, ignore);
  const held = await cache.folderOf([wanted('aa', 'a')], signal);
  const processes = join(all, 'processes');
  const [own = ''] = await readdir(processes);
  const mark = JSON.parse(await readFile(join(processes, own, 'process.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  const long = new Date(Date.now() - 2 * 60 * 60_000);
  for (const [name, change, age] of [
    ['gone', { pid: 2 ** 30 }, new Date()],
    ['reused', { started: 'another time' }, new Date()],
    ['elsewhere', { machine: 'another one' }, new Date()],
    ['elsewhere-dead', { machine: 'another one' }, long],
  ] as const) {
    await mkdir(join(processes, name));
    const file = join(processes, name, 'process.json');
    await writeFile(file, JSON.stringify({ ...mark, ...change }));
    await utimes(file, age, age);
  }
  // Without a mark it may be in the making.
  await mkdir(join(processes, 'new'));
  await removeDeadLeases(processes);
  assert.deepEqual((await readdir(processes)).sort(), [own, 'elsewhere', 'new'].sort());
  await held.release();
  assert.ok((await stat(join(all, 'files', digestOf('a')))).isFile());
});

test('what may pass is tried again, silence ends a try, and a signal ends all', async () => {
  let calls = 0;
  const faultOf = (error: unknown): { kind: 'passing' | 'lasting'; text: string } => ({
    kind: error instanceof PassingFault ? 'passing' : 'lasting',
    text: String(error),
  });
  const twice = await insistently(
    () => (++calls < 3 ? Promise.reject(new PassingFault('busy')) : Promise.resolve('done')),
    faultOf,
    signal,
  );
  assert.deepEqual([twice, calls], ['done', 3]);
  const failed = await insistently(() => Promise.reject(new RangeError('no')), faultOf, signal).catch(
    (error: unknown) => error,
  );
  assert.ok(failed instanceof StoreCallError && failed.tries === 1);
  calls = 0;
  const late = await insistently(
    async (one) => {
      if (++calls > 1) return 'done';
      await new Promise((_, reject) => {
        one.signal.addEventListener('abort', () => {
          reject(new RangeError('aborted'));
        });
      });
      return 'never';
    },
    faultOf,
    signal,
    20,
  );
  assert.deepEqual([late, calls], ['done', 2]);
  // What a failed try has left ends with it, and nothing stays in the signal.
  let left: AbortSignal | undefined;
  const listened = getEventListeners(signal, 'abort').length;
  await assert.rejects(
    insistently(
      (one) => {
        left = one.signal;
        return Promise.reject(new RangeError('no'));
      },
      faultOf,
      signal,
    ),
  );
  assert.ok(left?.aborted);
  assert.equal(getEventListeners(signal, 'abort').length, listened);
  const stop = new AbortController();
  const stopped = insistently(() => Promise.reject(new PassingFault('busy')), faultOf, stop.signal);
  stop.abort();
  await assert.rejects(stopped, { name: 'AbortError' });
});

test('a load keeps the files that it has already, and makes room of others', async (t) => {
  const cache = await cacheOf(t, 10);
  const fetched: string[] = [];
  const old = wanted('aa', '123456', fetched);
  await (await cache.folderOf([old, wanted('bb', '123', fetched)], signal)).release();
  fetched.length = 0;
  await (await cache.folderOf([old, wanted('cc', '456', fetched)], signal)).release();
  assert.deepEqual(fetched, ['cc']);
});

test('a full disk evicts what no load has, and the file is fetched once more', async (t) => {
  const cache = await cacheOf(t, 1e6);
  await (await cache.folderOf([wanted('aa', 'old')], signal)).release();
  const kept = await cache.folderOf([wanted('bb', 'kept')], signal);
  let tries = 0;
  const full = (): WantedFile => ({
    ...wanted('cc', 'new'),
    fetch: async (file) => {
      tries++;
      if ((await files(cache)).includes('old') || tries > 2)
        throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      await file.write('new');
      return digestOf('new');
    },
  });
  const made = await cache.folderOf([full()], signal);
  assert.equal(tries, 2);
  assert.equal(await readFile(join(made.directory, '1/cc.txt'), 'utf8'), 'new');
  assert.deepEqual(await files(cache), ['kept', 'new']);
  // Nothing can be evicted: it is told of at once.
  const other = { ...full(), name: 'dd' };
  assert.match((await rejection(cache.folderOf([other], signal))).message, /its disk is full/);
  assert.equal(tries, 3);
  await kept.release();
  await made.release();
});

test('a name that is a pipe is fetched again', { skip: process.platform === 'win32' }, async (t) => {
  const cache = await cacheOf(t, 1000);
  const fetched: string[] = [];
  await mkdir(join(cache.directory, 'names'), { recursive: true });
  execFileSync('mkfifo', [join(cache.directory, 'names', 'aa')]);
  await (await cache.folderOf([wanted('aa', 'text', fetched)], signal)).release();
  assert.deepEqual(fetched, ['aa']);
});
