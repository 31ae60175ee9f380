import assert from 'node:assert/strict';
import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { ServerOptions } from '../src/options.js';
import { resolveOptions } from '../src/resolve-options.js';
import { thrown } from './support/harness.js';

/** The message about options that TypeScript would refuse. */
function refused(options: unknown): string {
  const error = thrown(() => resolveOptions(options as ServerOptions));
  assert.equal(error.code, 'INVALID_ARG');
  return error.message;
}

/** The message about a wrong value, with a right repository. */
function refusedWith(options: Readonly<Record<string, unknown>>): string {
  return refused({ modelRepository: './models', ...options });
}

test('every option has a default but the repository', () => {
  const resolved = resolveOptions({ modelRepository: 'models' });
  assert.deepEqual(resolved.repositories, [resolve('models')]);
  assert.equal(resolved.exitOnError, true);
  assert.equal(resolved.modelControlMode, 'none');
  assert.deepEqual(resolved.loadModels, []);
  assert.equal(resolved.autoCompleteConfig, true);
  assert.equal(resolved.instanceKind, undefined);
  assert.equal(resolved.modelLoadConcurrency, 4);
  assert.deepEqual(resolved.backendConfig, {});
  // The whole suite may run without inline runs.
  assert.equal(resolved.inline, process.env['TRITONTS_INLINE'] === '0' ? 'off' : 'auto');
  assert.equal(resolved.signal, undefined);
  assert.equal(resolved.onProgress, undefined);
});

test('pools of memory for GPUs are as large as Triton has them, or as they are said to be', () => {
  const pools = (given: Partial<ServerOptions>): unknown =>
    resolveOptions({ modelRepository: 'models', ...given }).gpuMemory;
  assert.deepEqual(pools({}), { pinnedBytes: 2 ** 28, gpuBytes: 2 ** 26, listed: [] });
  assert.deepEqual(pools({ pinnedMemoryPoolByteSize: 0, cudaMemoryPoolByteSize: 5 }), {
    pinnedBytes: 0,
    gpuBytes: 5,
    listed: [],
  });
  assert.deepEqual(pools({ cudaMemoryPoolByteSize: { 1: 7 } }), {
    pinnedBytes: 2 ** 28,
    gpuBytes: 2 ** 26,
    listed: [[1, 7]],
  });
});

test('the default number of threads is that of the cores this process may use', () => {
  const { threads } = resolveOptions({ modelRepository: 'models' });
  assert.ok(Number.isInteger(threads) && threads >= 1 && threads <= availableParallelism(), `${threads}`);
});

test('by default requests in flight may hold a quarter of the memory, and at most 1 GiB', () => {
  const { maxInFlightBytes } = resolveOptions({ modelRepository: 'models' });
  assert.ok(Number.isInteger(maxInFlightBytes));
  assert.ok(
    maxInFlightBytes > 0 && maxInFlightBytes <= Math.min(2 ** 30, totalmem() / 4),
    `${maxInFlightBytes}`,
  );
});

test('paths in options start at the given folder; a library without a folder is left to the system', () => {
  const { repositories, trustedFolders, backendConfig, backendDirectory } = resolveOptions(
    {
      modelRepository: 'models',
      backendDirectory: 'backends',
      trustedFolders: ['lib', '/opt/lib', pathToFileURL('/opt/other')],
      backendConfig: { onnxruntime: { library: './libonnxruntime.so', profile_file_prefix: 'run' } },
    },
    '/base',
  );
  assert.deepEqual(repositories, [resolve('/base/models')]);
  assert.equal(backendDirectory, resolve('/base/backends'));
  assert.deepEqual(
    trustedFolders,
    ['/base/lib', '/opt/lib', '/opt/other'].map((folder) => resolve(folder)),
  );
  assert.deepEqual(backendConfig['onnxruntime'], {
    library: resolve('/base/libonnxruntime.so'),
    profile_file_prefix: resolve('/base/run'),
  });
  const named = { onnxruntime: { library: 'libonnxruntime.so' } };
  assert.deepEqual(resolveOptions({ modelRepository: 'models', backendConfig: named }).backendConfig, named);
});

test('given values replace the defaults', () => {
  const given = {
    exitOnError: false,
    modelControlMode: 'explicit',
    loadModels: ['a', 'b'],
    autoCompleteConfig: false,
    instanceKind: 'cpu',
    modelLoadConcurrency: 2,
    backendConfig: { onnxruntime: { library: 'libonnxruntime.so' } },
    threads: 3,
    maxInFlightBytes: 1000,
    inline: 200,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  } as const;
  const resolved = resolveOptions({ modelRepository: '/models', ...given });
  for (const [key, value] of Object.entries(given)) {
    assert.deepEqual(resolved[key as keyof typeof given], value, key);
  }
});

test('resolved options are frozen', () => {
  assert.ok(Object.isFrozen(resolveOptions({ modelRepository: '/models' })));
});

test('undefined counts as absent', () => {
  const names = ['exitOnError', 'modelControlMode', 'loadModels', 'modelLoadConcurrency', 'backendConfig'];
  const absent = Object.fromEntries(
    [...names, 'threads', 'maxInFlightBytes'].map((name) => [name, undefined]),
  );
  assert.equal(resolveOptions({ modelRepository: '/models', ...absent }).modelLoadConcurrency, 4);
});

test('a repository is a path, a file URL or a list of those, each once', () => {
  const url = pathToFileURL('/some where/models');
  const { repositories } = resolveOptions({ modelRepository: ['relative', '/absolute', url, url.href] });
  assert.deepEqual(repositories, [resolve('relative'), resolve('/absolute'), '/some where/models']);
});

void suite('a wrong repository', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /expected a path or a file: URL for options\.modelRepository but received undefined/],
    ['', /options\.modelRepository but received '' of type string/],
    [7, /received 7 of type number/],
    [[], /expected at least one folder for options\.modelRepository but received none/],
    [['a', null], /options\.modelRepository\[1\] but received null/],
    [new URL('https://models.example/a'), /begins with s3:.* received 'https:\/\/models\.example\/a'/],
    [
      's3://bucket/../models',
      /expected s3:\/\/<bucket>\/<path> .* for options\.modelRepository but received 's3:\/\/bucket/,
    ],
  ];
  for (const [value, message] of cases) {
    test(`${JSON.stringify(value)} is refused`, () => {
      assert.match(refused({ modelRepository: value }), message);
    });
  }
});

void suite('a wrong value', () => {
  const cases: readonly (readonly [Readonly<Record<string, unknown>>, RegExp])[] = [
    [
      { exitOnError: 'yes' },
      /^expected true or false for options\.exitOnError but received 'yes' of type string$/,
    ],
    [
      { modelControlMode: 'polling' },
      /expected 'none', 'poll' or 'explicit' for options\.modelControlMode but received 'polling'/,
    ],
    [
      { repositoryPollMs: 1000 },
      /options\.repositoryPollMs needs modelControlMode: 'poll'; in mode 'none' repositories are not polled/,
    ],
    [
      { modelControlMode: 'explicit', repositoryPollMs: 0 },
      /options\.repositoryPollMs needs modelControlMode/,
    ],
    [
      { modelControlMode: 'poll', repositoryPollMs: -1 },
      /an integer from 0 to 2147483647 for options\.repositoryPollMs but received -1/,
    ],
    [
      { modelControlMode: 'poll', repositoryPollMs: 2 ** 31 },
      /options\.repositoryPollMs but received 2147483648/,
    ],
    [{ modelControlMode: 'poll', repositoryPollMs: 0.5 }, /options\.repositoryPollMs but received 0\.5/],
    [
      { modelControlMode: 'poll', repositoryPollMs: '15' },
      /options\.repositoryPollMs but received '15' of type/,
    ],
    [
      { modelControlMode: 'poll', loadModels: ['a'] },
      /options\.loadModels needs modelControlMode: 'explicit'/,
    ],
    [{ modelControlMode: 'explicit', loadModels: 'a' }, /an array of model names for options\.loadModels/],
    [
      { modelControlMode: 'explicit', loadModels: ['a', 1] },
      /a model name for options\.loadModels\[1\] but received 1/,
    ],
    [{ modelControlMode: 'explicit', loadModels: [''] }, /options\.loadModels\[0\] but received ''/],
    [{ loadModels: ['a'] }, /options\.loadModels needs modelControlMode: 'explicit'/],
    [
      { modelLoadConcurrency: 0 },
      /an integer from 1 to 4096 for options\.modelLoadConcurrency but received 0/,
    ],
    [{ modelLoadConcurrency: 1.5 }, /options\.modelLoadConcurrency but received 1\.5/],
    [{ threads: -1 }, /options\.threads but received -1/],
    [{ threads: '2' }, /options\.threads but received '2' of type string/],
    [{ pinnedMemoryPoolByteSize: -1 }, /an integer of at least 0 for options\.pinnedMemoryPoolByteSize/],
    [{ cudaMemoryPoolByteSize: 'all' }, /bytes by the id of a GPU for options\.cudaMemoryPoolByteSize/],
    [
      { cudaMemoryPoolByteSize: { a: 1 } },
      /ids of GPUs, 0 to 63, as keys for options\.cudaMemoryPoolByteSize/,
    ],
    [{ cudaMemoryPoolByteSize: { 3: 0.5 } }, /at least 0 for options\.cudaMemoryPoolByteSize\[3\]/],
    [{ maxInFlightBytes: Infinity }, /options\.maxInFlightBytes but received Infinity/],
    [{ maxInFlightBytes: NaN }, /options\.maxInFlightBytes but received NaN/],
    [{ maxInFlightBytes: 10n }, /options\.maxInFlightBytes but received 10 of type bigint/],
    [{ signal: {} }, /an AbortSignal for options\.signal but received an object/],
    [{ trustedFolders: '/lib' }, /an array of folders for options\.trustedFolders but received '\/lib'/],
    [
      { trustedFolders: ['/lib', 7] },
      /a path or a file: URL for options\.trustedFolders\[1\] but received 7/,
    ],
    [{ onProgress: true }, /a function for options\.onProgress but received true/],
    [{ backendConfig: [] }, /an object for options\.backendConfig but received an array/],
    [{ backendConfig: { onnxruntime: 'x' } }, /an object for options\.backendConfig\.onnxruntime/],
    [
      { backendConfig: { onnxruntime: { library: null } } },
      /a string, number or boolean for options\.backendConfig\.onnxruntime\.library but received null/,
    ],
  ];
  for (const [options, message] of cases) {
    const text = Object.entries(options).map(([key, value]) => `${key}: ${String(value)}`);
    test(`${text.join(', ')} is refused`, () => {
      assert.match(refusedWith(options), message);
    });
  }
});

void suite('an unknown key', () => {
  const cases: readonly (readonly [Readonly<Record<string, unknown>>, RegExp])[] = [
    [
      { exitonError: false },
      /^unknown key 'exitonError' in options \(did you mean exitOnError\?\); it takes /,
    ],
    [{ maxInflightBytes: 5 }, /\(did you mean maxInFlightBytes\?\)/],
    [{ zzz: 1 }, /^unknown key 'zzz' in options; it takes modelRepository, models, exitOnError, /],
    [
      { backendConfig: { onnxruntme: {} } },
      /unknown key 'onnxruntme' in options\.backendConfig \(did you mean onnxruntime\?\)/,
    ],
    [
      { backendConfig: { onnxruntime: { libary: 'x' } } },
      /unknown key 'libary' in options\.backendConfig\.onnxruntime \(did you mean library\?\)/,
    ],
  ];
  for (const [options, message] of cases) {
    test(`${JSON.stringify(options)} is refused with what was meant`, () => {
      assert.match(refusedWith(options), message);
    });
  }
});

test('options that are no object are refused', () => {
  for (const value of [undefined, null, 5, []])
    assert.match(refused(value), /expected an object for options/);
});

test('a symbol as a value is refused like any other', () => {
  assert.match(refusedWith({ threads: Symbol('two') }), /options\.threads but received Symbol\(two\)/);
});

test('inline is a word or microseconds', () => {
  for (const inline of ['on', 0, -1, 10_001, NaN, true, '']) {
    assert.match(
      refusedWith({ inline }),
      /expected 'auto', 'off' or 1 to 10000 microseconds for options\.inline but received /,
    );
  }
});
