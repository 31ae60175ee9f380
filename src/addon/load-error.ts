/** The error for an addon that cannot be loaded: the platform, the places searched, and what to do. */

import { type TritonError, unavailable } from '../errors.js';
import { packageVersion } from '../version.js';
import { neededNode, runsHere, type RuntimeVersions } from './node-version.js';
import { outsideOfBundle } from './own-file.js';
import { describePlatform } from './platform.js';

/** A place where the addon was searched without success. */
export interface Attempt {
  /** The place's name in messages. */
  readonly name: string;
  /** Path of the file, if the place has one. */
  readonly file: string | undefined;
  /**
   * `absent`: there is no file; `damaged`: the file was not loaded because of a fault; `refused`: the system or
   * Node failed to load it.
   */
  readonly kind: 'absent' | 'damaged' | 'refused';
  /** What went wrong, without the place's name. */
  readonly reason: string;
  /** The error that was thrown. */
  readonly cause: unknown;
}

/**
 * The error for a version of Node that the package does not support; undefined for supported versions, and for
 * Bun and Deno.
 */
export function unsuitedNode(versions: RuntimeVersions): TritonError | undefined {
  return runsHere(versions) ? undefined : unavailable('NO_ADDON', neededNode(versions.node));
}

/** The error if no place has an addon that can be loaded. */
export function loadFailure(target: string, attempts: readonly Attempt[]): TritonError {
  if (attempts.some(({ cause }) => errorCode(cause) === 'ERR_DLOPEN_DISABLED')) {
    return failure(
      attempts,
      [
        'remove --no-addons from the command line, from NODE_OPTIONS and from the execArgv of a worker',
        'under --permission, add --allow-addons',
      ],
      { because: ': this process forbids addons' },
    );
  }
  return failure(attempts, [...fixes(target, attempts)]);
}

function* fixes(target: string, attempts: readonly Attempt[]): Generator<string> {
  if (attempts.some(({ kind }) => kind === 'damaged'))
    yield 'a file is damaged, or of another version: remove node_modules and install again (npm ci)';
  if (
    attempts.some(({ kind, reason }) => kind === 'refused' && /GLIBC_|GLIBCXX_|ld-musl|ld-linux/.test(reason))
  )
    yield 'the binary needs glibc 2.28 or newer, which this system lacks: build it here, as below';
  yield `install again on this platform, with optional dependencies, which carry the binary of ${target}: npm install --include=optional (node_modules of another platform, copied or mounted, has another binary; not every platform has one, see README, Platforms)`;
  yield `in a bundle: ${outsideOfBundle}; in Electron, unpack both from the asar archive (docs/electron.md)`;
  yield 'build it: npm install --no-save cmake-js node-addon-api node-api-headers && node node_modules/tritonts/scripts/build-addon.mjs (needs CMake 3.22 and a C++20 compiler)';
}

function failure(
  attempts: readonly Attempt[],
  remedies: readonly string[],
  { because = '' }: { readonly because?: string } = {},
): TritonError {
  const tried = attempts.map(
    ({ name, file, reason }) => `  ${name}: ${reason}${file === undefined ? '' : ` (${file})`}`,
  );
  const lines = [
    `the native addon of tritonts ${packageVersion} could not be loaded on ${describePlatform()}${because}.`,
    ...(tried.length > 0 ? ['Looked for, in this order:', ...tried] : []),
    'What helps:',
    ...remedies.map((remedy, index) => `  ${index + 1}. ${remedy}`),
  ];
  const causes = attempts.map(({ cause }) => cause);
  return unavailable(
    'NO_ADDON',
    lines.join('\n'),
    causes.length > 0 ? { cause: new AggregateError(causes) } : {},
  );
}

/** Node's code of an error, such as `MODULE_NOT_FOUND`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
