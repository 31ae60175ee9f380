import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { findLibrary, readLoaderCache } from '../../src/backends/system-libraries.js';
import { temporaryFolder } from '../support/repository.js';

/** The lines of `ldconfig -p` for this processor, as names and files. */
function ldconfig(): readonly (readonly [string, string])[] {
  const known = { x64: 'libc6,x86-64', arm64: 'libc6,AArch64' }[process.arch as string];
  const { stdout } = spawnSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const [, name = '', kind = '', file = ''] = /^\s+(\S+) \((.*)\) => (.*)$/.exec(line) ?? [];
    return kind === known ? [[name, file] as const] : [];
  });
}

const options = {
  skip:
    existsSync('/sbin/ldconfig') && existsSync('/etc/ld.so.cache') ? false : 'needs ldconfig and its cache',
};

test("the loader's cache holds what ldconfig says", options, () => {
  const expected = ldconfig();
  assert.ok(expected.length > 0);
  const found = readLoaderCache(readFileSync('/etc/ld.so.cache'));
  const first = new Map([...expected].reverse());
  assert.deepEqual([...found].sort(), [...first].sort());
});

test('a damaged cache has fewer libraries, or none', options, () => {
  const whole = readFileSync('/etc/ld.so.cache');
  const all = readLoaderCache(whole);
  for (let size = 0; size < whole.length; size += 97) {
    const found = readLoaderCache(whole.subarray(0, size));
    assert.ok(found.size <= all.size);
  }
  assert.equal(readLoaderCache(Buffer.from('something else')).size, 0);
});

test('a library is found in LD_LIBRARY_PATH, and then in the cache', options, async (t) => {
  const folder = await temporaryFolder(t);
  const [name = '', file = ''] = ldconfig()[0] ?? [];
  const before = process.env['LD_LIBRARY_PATH'];
  t.after(() => {
    if (before === undefined) delete process.env['LD_LIBRARY_PATH'];
    else process.env['LD_LIBRARY_PATH'] = before;
  });
  process.env['LD_LIBRARY_PATH'] = folder;
  const cached = findLibrary(['libnosuch.so.1', name]);
  assert.ok('path' in cached);
  assert.equal(realpathSync(cached.path), realpathSync(file));
  await writeFile(join(folder, name), '');
  assert.deepEqual(findLibrary([name]), { path: join(folder, name) });
  const none = findLibrary(['libnosuch.so.1'], ['/nowhere']);
  assert.ok('lookedIn' in none);
  assert.deepEqual(
    [none.lookedIn[0], none.lookedIn[1], none.lookedIn.at(-1)],
    [folder, '/etc/ld.so.cache', '/nowhere'],
  );
});
