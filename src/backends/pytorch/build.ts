/** Builds the shim for a libtorch: `tritonts build-backend pytorch`. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { TritonError, unavailable } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import { stampOf, torchHeaders, torchLibrary } from './library.js';
import {
  builtShim,
  digestOf,
  shimFolder,
  sourceDigest,
  sourceFile,
  unfitness,
  type BuiltShim,
} from './shim.js';

/** What to build, and with what. */
export interface BuildOptions {
  /** The library, its folder, or the folder that has `lib` and `include` (default: the one that models use). */
  readonly torch?: string | undefined;
  /** The C++ compiler (default: the environment's `CXX`, or `c++`). */
  readonly compiler?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
}

/** A shim that fits. */
export interface BuildResult {
  /** Path of the shim. */
  readonly path: string;
  readonly shim: BuiltShim;
  /** Whether it was there already. */
  readonly wasThere: boolean;
}

/** C++20 is needed from this version of libtorch on. */
const firstOfCxx20: readonly [number, number] = [2, 13];

function standardFor(version: string): string {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [first, second] = firstOfCxx20;
  return major > first || (major === first && minor >= second) ? '20' : '17';
}

/** Whether libtorch was built with the newer strings of libstdc++. Wheels before 2.7 were not. */
function hasNewStrings(folder: string): boolean {
  const file = join(folder, 'libc10.so');
  // The constructor of libtorch's error, which has a string.
  return !existsSync(file) || readFileSync(file).includes('NS_14SourceLocationENSt7__cxx11', 0, 'latin1');
}

/** The flags of the compiler, without the names of files and the kind of the result. */
function flagsFor(library: string, headers: string, version: string): readonly string[] {
  const folder = dirname(library);
  const common = [`-std=c++${standardFor(version)}`, '-O2', '-fPIC', '-w'];
  const places = [
    `-isystem${headers}`,
    `-isystem${join(headers, 'torch', 'csrc', 'api', 'include')}`,
    `-L${folder}`,
    '-ltorch_cpu',
    '-lc10',
    `-Wl,-rpath,${folder}`,
  ];
  if (process.platform === 'darwin') return [...common, ...places];
  return [
    ...common,
    `-D_GLIBCXX_USE_CXX11_ABI=${hasNewStrings(folder) ? 1 : 0}`,
    ...places,
    // LD_LIBRARY_PATH must not replace the libtorch that the shim was compiled against.
    '-Wl,--disable-new-dtags',
    '-Wl,--no-undefined',
  ];
}

/** The compiler, with its first arguments: it may be `ccache g++`. */
function compilerOf(compiler: string | undefined, env: NodeJS.ProcessEnv): readonly [string, ...string[]] {
  // A path may have spaces.
  if (compiler !== undefined && existsSync(compiler)) return [compiler];
  const [program = '', ...args] = (compiler ?? env['CXX'] ?? '').trim().split(/\s+/);
  return program === '' ? ['c++'] : [program, ...args];
}

/** Runs the compiler. Its messages are in the error. */
function compile(compiler: string, args: readonly string[], env: NodeJS.ProcessEnv): void {
  const { status, error, stderr, signal } = spawnSync(compiler, args, {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    // Beyond this the compiler would be ended.
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined && (error as NodeJS.ErrnoException).code !== 'ENOENT')
    throw unavailable('MISSING', `the C++ compiler '${compiler}' cannot be run: ${error.message}`, {
      cause: error,
    });
  if (error !== undefined) {
    throw unavailable(
      'MISSING',
      `there is no C++ compiler '${compiler}' (${error.message}): install one (Debian and Ubuntu: apt-get install g++; ` +
        "macOS: xcode-select --install), or name one with --compiler. Without a compiler, Python's torch runs the models, " +
        'slower',
      { cause: error },
    );
  }
  if (status === 0) return;
  const lines = stderr.split('\n').filter((line) => /error|undefined|cannot find|fatal/i.test(line));
  const told = (lines.length > 0 ? lines : stderr.split('\n')).slice(0, 5).join('\n');
  throw new TritonError(
    'INTERNAL',
    `the shim for libtorch could not be compiled: '${compiler}' ended with ${signal ?? String(status)}:\n${told}`,
    { cause: new Error(stderr) },
  );
}

/**
 * Compiles a program of one file against a libtorch, with the flags of the shim, for the benchmark.
 *
 * @param library - The library.
 * @param more - More flags, which come last.
 * @throws {@link TritonError} UNAVAILABLE without headers or a compiler; INTERNAL with the compiler's messages.
 */
export function compileProgram(
  library: string,
  source: string,
  program: string,
  more: readonly string[],
): void {
  const { folder: headers, version } = torchHeaders(library);
  const [compiler, ...first] = compilerOf(undefined, process.env);
  const flags = flagsFor(library, headers, version);
  compile(compiler, [...first, source, '-o', program, ...flags, ...more], process.env);
}

function makeOne(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Makes the folder of the shims, and those above it. `mkdirSync` itself never ends where the system refuses folders, as in /proc. */
function makeFolder(folder: string): void {
  const missing: string[] = [];
  for (let one = folder; !existsSync(one) && dirname(one) !== one; one = dirname(one)) missing.unshift(one);
  try {
    for (const one of missing) makeOne(one);
    if (!statSync(folder).isDirectory()) throw new Error(`'${folder}' is not a folder`);
  } catch (error) {
    throw unavailable(
      'MISSING',
      `the shim for libtorch cannot be kept in '${folder}' (${thrownText(error)}): set TRITONTS_CACHE to a folder that can be written`,
      { cause: error },
    );
  }
}

/**
 * Builds the shim, unless one that fits is there. Processes that use an older one go on with that.
 *
 * @throws {@link TritonError} UNAVAILABLE without libtorch, its headers or a compiler; INTERNAL with the compiler's messages.
 */
export function buildShim({ torch, compiler, env = process.env }: BuildOptions): BuildResult {
  const library = torchLibrary(torch === undefined ? {} : { library: torch }, env);
  const { folder: headers, version } = torchHeaders(library);
  const flags = ['-shared', '-fvisibility=hidden', ...flagsFor(library, headers, version)];
  const [program, ...first] = compilerOf(compiler, env);
  const source = sourceDigest();
  const folder = shimFolder(library, env);
  const before = builtShim(library, env);
  const isSame =
    before !== undefined &&
    unfitness(before, library, join(folder, before.file)) === undefined &&
    before.version === version &&
    before.compiler === [program, ...first].join(' ') &&
    before.flags.join('\n') === flags.join('\n');
  if (isSame) return { path: join(folder, before.file), shim: before, wasThere: true };

  const stamp = stampOf(library);
  const name = createHash('sha256')
    .update([version, stamp, source, program, ...first, ...flags].join('\n'))
    .digest('hex')
    .slice(0, 16);
  const file = `libtritonts_torch-${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`;
  const path = join(folder, file);
  const made = join(folder, `making-${process.pid}`);
  makeFolder(folder);
  try {
    compile(program, [...first, sourceFile('tritonts_torch.cc'), '-o', made, ...flags], env);
    const digest = digestOf(made);
    if (digest === undefined)
      throw new TritonError('INTERNAL', `the C++ compiler '${program}' ended with 0, but wrote no file`);
    renameSync(made, path);
    const compiledBy = [program, ...first].join(' ');
    const shim: BuiltShim = { file, library, version, stamp, source, compiler: compiledBy, flags, digest };
    writeFileSync(made, `${JSON.stringify(shim, undefined, 2)}\n`);
    renameSync(made, join(folder, 'build.json'));
    return { path, shim, wasThere: false };
  } finally {
    rmSync(made, { force: true });
  }
}
