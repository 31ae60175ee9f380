/** The shim is built for a libtorch, kept, and refused when libtorch changes. */

import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { buildShim } from '../../../src/backends/pytorch/build.js';
import { torchHeaders, torchLibrary } from '../../../src/backends/pytorch/library.js';
import { cacheFolder, shimFor, shimFolder } from '../../../src/backends/pytorch/shim.js';
import { thrown, type Context } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { needsPyTorch } from './models.js';

const onLinux = { skip: process.platform === 'linux' ? false : 'needs Linux' };

/** An environment with nothing but folders of its own, and a compiler that only writes what it is called with. */
async function made(
  t: Context,
  { version = '2.7.1', strings = 'NSt7__cxx11', status = 0 } = {},
): Promise<{
  readonly env: NodeJS.ProcessEnv;
  readonly torch: string;
  readonly library: string;
}> {
  const folder = await temporaryFolder(t);
  const torch = join(folder, 'torch');
  const headers = join(torch, 'include', 'torch', 'csrc', 'api', 'include', 'torch');
  await mkdir(headers, { recursive: true });
  await mkdir(join(torch, 'lib'));
  await writeFile(join(headers, 'version.h'), `#define TORCH_VERSION \\\n  "${version}"\n`);
  const library = join(torch, 'lib', 'libtorch_cpu.so');
  await writeFile(library, 'library');
  await writeFile(join(torch, 'lib', 'libc10.so'), `\0_ZN3c105ErrorC1ENS_14SourceLocationE${strings}\0`);
  const compiler = join(folder, 'compiler');
  await writeFile(
    compiler,
    `#!/bin/sh\nif [ ${status} != 0 ]; then echo "shim.cc:1: error: no" >&2; exit ${status}; fi\necho "$@" > "$3"\n`,
  );
  await chmod(compiler, 0o755);
  const env = { PATH: '/bin:/usr/bin', HOME: folder, CXX: compiler, TRITONTS_TORCH_PATH: torch };
  return { env, torch, library };
}

test('the folder of what is built is the user’s, unless the environment names one', onLinux, () => {
  assert.equal(cacheFolder({ HOME: '/nowhere/me' }), '/nowhere/me/.cache/tritonts');
  assert.equal(cacheFolder({ HOME: '/nowhere/me', XDG_CACHE_HOME: '/caches' }), '/caches/tritonts');
  assert.equal(cacheFolder({ XDG_CACHE_HOME: '/caches', TRITONTS_CACHE: '/own' }), '/own');
  const unknownUser = (): string => {
    throw new Error('uv_os_homedir returned ENOENT');
  };
  assert.equal(cacheFolder({ TRITONTS_CACHE: '/own' }, unknownUser), '/own');
  assert.throws(() => cacheFolder({}, unknownUser), {
    code: 'UNAVAILABLE',
    message: /no home: set HOME, or TRITONTS_CACHE/,
  });
});

test(
  'libtorch is named by its folder, its folder lib, or its file; links are resolved',
  onLinux,
  async (t) => {
    const { torch, library } = await made(t);
    const folder = await temporaryFolder(t);
    await symlink(torch, join(folder, 'link'));
    for (const path of [torch, join(torch, 'lib'), library, join(folder, 'link')]) {
      assert.equal(torchLibrary({}, { TRITONTS_TORCH_PATH: path }), library);
      assert.equal(torchLibrary({ library: path }, { TRITONTS_TORCH_PATH: '/nowhere' }), library);
    }
    assert.deepEqual(torchHeaders(library), { folder: join(torch, 'include'), version: '2.7.1' });
  },
);

test('without libtorch the error says where it was looked for, and both commands', onLinux, async (t) => {
  const error = thrown(() =>
    torchLibrary({}, { VIRTUAL_ENV: '/nowhere', HOME: '/nowhere', LD_LIBRARY_PATH: '/libs' }),
  );
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
  for (const text of [
    'libtorch_cpu.so',
    '/libs',
    '/opt/libtorch/lib',
    'pip install torch',
    'npx tritonts build-backend pytorch',
  ])
    assert.ok(error.message.includes(text), text);
  const folder = await temporaryFolder(t);
  const empty = thrown(() => torchLibrary({ library: folder }, {}));
  assert.ok(empty.message.includes(folder), empty.message);
});

test('the shim is compiled once, with the flags that the library needs', onLinux, async (t) => {
  const { env, torch, library } = await made(t);
  const missing = thrown(() => shimFor(library, env));
  assert.deepEqual([missing.code, missing.reason], ['UNAVAILABLE', 'MISSING']);
  assert.match(missing.message, /shim for it was not built.* Run 'npx tritonts build-backend pytorch'/);
  const { path, wasThere } = buildShim({ env });
  assert.equal(wasThere, false);
  assert.equal(dirname(path), shimFolder(library, env));
  assert.equal(shimFor(library, env), path);
  const args = (await readFile(path, 'utf8')).trim().split(' ');
  assert.match(args[0] ?? '', /native\/backends\/pytorch\/shim\/tritonts_torch\.cc$/);
  for (const flag of [
    '-std=c++17',
    '-D_GLIBCXX_USE_CXX11_ABI=1',
    `-isystem${join(torch, 'include')}`,
    `-Wl,-rpath,${join(torch, 'lib')}`,
    '-Wl,--disable-new-dtags',
  ])
    assert.ok(args.includes(flag), flag);
  assert.deepEqual([buildShim({ env }).path, buildShim({ env }).wasThere], [path, true]);
});

test('the environment’s compiler may have arguments', onLinux, async (t) => {
  const { env } = await made(t);
  const { path } = buildShim({ env: { ...env, CXX: ` /bin/sh ${env['CXX'] ?? ''} ` } });
  assert.match(await readFile(path, 'utf8'), /-std=c\+\+17/);
});

test('older wheels have other strings, and newer versions need C++20', onLinux, async (t) => {
  const old = await made(t, { version: '2.1.0', strings: 'Ss' });
  assert.match(await readFile(buildShim({ env: old.env }).path, 'utf8'), /_GLIBCXX_USE_CXX11_ABI=0/);
  for (const version of ['2.13.0', '2.14.1', '3.0.0']) {
    const { env } = await made(t, { version });
    assert.match(await readFile(buildShim({ env }).path, 'utf8'), /-std=c\+\+20/);
  }
});

test('a libtorch that changes makes its shim unfit, until it is built again', onLinux, async (t) => {
  const { env, library } = await made(t);
  const { path } = buildShim({ env });
  await writeFile(library, 'another library');
  const size = thrown(() => shimFor(library, env));
  assert.equal(size.code, 'UNAVAILABLE');
  assert.match(
    size.message,
    /does not fit: it was built for libtorch 2\.7\.1, and the library has changed since/,
  );
  assert.match(size.message, /Run 'npx tritonts build-backend pytorch' again/);
  const again = buildShim({ env });
  assert.equal(again.wasThere, false);
  assert.notEqual(again.path, path);
  assert.equal(shimFor(library, env), again.path);
  await utimes(library, 1, 1);
  assert.match(thrown(() => shimFor(library, env)).message, /has changed since/);
});

test('a shim of another source is unfit, and a damaged note is as none', onLinux, async (t) => {
  const { env, library } = await made(t);
  const { shim } = buildShim({ env });
  const note = join(shimFolder(library, env), 'build.json');
  await writeFile(note, JSON.stringify({ ...shim, source: 'other' }));
  assert.match(thrown(() => shimFor(library, env)).message, /built by another version of tritonts/);
  for (const text of ['{', 'null', '{}', JSON.stringify({ ...shim, flags: 'none' })]) {
    await writeFile(note, text);
    assert.match(thrown(() => shimFor(library, env)).message, /was not built/);
    assert.equal(buildShim({ env }).wasThere, false);
    shimFor(library, env);
  }
});

test('a shim that is damaged is built again', onLinux, async (t) => {
  const { env, library } = await made(t);
  const { path } = buildShim({ env });
  for (const content of ['', 'cut']) {
    await writeFile(path, content);
    assert.match(thrown(() => shimFor(library, env)).message, /its file .* is damaged\. Run 'npx/);
    assert.deepEqual([buildShim({ env }).path, shimFor(library, env)], [path, path]);
  }
});

test(
  'compilers that write nothing or very much, and folders that cannot be made, are errors',
  onLinux,
  async (t) => {
    const { env } = await made(t);
    const nothing = thrown(() => buildShim({ env, compiler: 'true' }));
    assert.match(nothing.message, /'true' ended with 0, but wrote no file/);
    const loud = join(await temporaryFolder(t), 'loud');
    await writeFile(loud, `#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\necho "$@" > "$3"\n`);
    await chmod(loud, 0o755);
    assert.equal(buildShim({ env, compiler: loud }).wasThere, false);
    const denied = thrown(() => buildShim({ env, compiler: '/etc' }));
    assert.match(denied.message, /the C\+\+ compiler '\/etc' cannot be run/);
    for (const cache of [loud, '/proc/x', join(loud, 'below')]) {
      const error = thrown(() => buildShim({ env: { ...env, TRITONTS_CACHE: cache } }));
      assert.equal(error.code, 'UNAVAILABLE');
      assert.match(error.message, /set TRITONTS_CACHE to a folder that can be written/);
    }
  },
);

test(
  'without a compiler, or if it fails, the error says what to do, and nothing is left',
  onLinux,
  async (t) => {
    const { env, library } = await made(t);
    const none = thrown(() => buildShim({ env, compiler: '/nowhere/g++' }));
    assert.deepEqual([none.code, none.reason], ['UNAVAILABLE', 'MISSING']);
    assert.match(
      none.message,
      /'\/nowhere\/g\+\+'.*apt-get install g\+\+.*--compiler.*Python's torch runs the models/s,
    );
    const failing = await made(t, { status: 3 });
    const failed = thrown(() => buildShim({ env: failing.env }));
    assert.equal(failed.code, 'INTERNAL');
    assert.match(failed.message, /ended with 3:\nshim\.cc:1: error: no/);
    for (const [one, at] of [
      [env, library],
      [failing.env, failing.library],
    ] as const)
      assert.match(thrown(() => shimFor(at, one)).message, /was not built/);
    const { torch } = await made(t);
    await writeFile(join(torch, 'include', 'torch', 'csrc', 'api', 'include', 'torch', 'version.h'), '');
    assert.match(thrown(() => buildShim({ torch, env })).message, /has no headers/);
  },
);

test('the real compiler builds a shim for the libtorch of this machine', needsPyTorch, async (t) => {
  const folder = await temporaryFolder(t);
  const { path, shim } = buildShim({ env: { ...process.env, TRITONTS_CACHE: folder } });
  assert.ok(path.startsWith(folder));
  assert.match(shim.version, /^\d+\.\d+\.\d+/);
});
