/**
 * The shims that were built: where they are kept, and whether one fits a libtorch. A shim is a small library with a C
 * interface (`native/backends/pytorch/shim`), compiled against the libtorch of the machine.
 */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownFile } from '../../addon/own-file.js';
import { unavailable } from '../../errors.js';
import { homeFolder } from '../home-folder.js';
import { buildCommand, stampOf } from './library.js';

/** What is known of a shim, in the file `build.json`. */
export interface BuiltShim {
  /** The name of its file, beside this one. */
  readonly file: string;
  /** The libtorch that it was built for. */
  readonly library: string;
  readonly version: string;
  readonly stamp: string;
  /** The digest of its source. */
  readonly source: string;
  readonly compiler: string;
  readonly flags: readonly string[];
  /** The digest of the shim itself, which tells a damaged one. */
  readonly digest: string;
}

const sources: readonly string[] = ['tritonts_torch.cc', 'shim.h'];

/** The path of the shim's source, or of its header. */
export function sourceFile(name: string): string {
  return ownFile(`native/backends/pytorch/shim/${name}`, 'from which the shim for libtorch is built');
}

/** The digest of the shim's source and of the interface. */
export function sourceDigest(): string {
  const hash = createHash('sha256');
  for (const name of sources) hash.update(readFileSync(sourceFile(name))).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/**
 * The folder of what is built on this machine: `TRITONTS_CACHE`, or a folder in the user's caches.
 *
 * @param known - As of {@link homeFolder}.
 * @throws {@link TritonError} UNAVAILABLE if nothing says where the user's caches are.
 */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, known?: () => string): string {
  const own = env['TRITONTS_CACHE'];
  if (own !== undefined && own !== '') return own;
  const caches = env['XDG_CACHE_HOME'];
  const isNamed = caches !== undefined && caches !== '' && process.platform !== 'darwin';
  if (isNamed) return join(caches, 'tritonts');
  const home = homeFolder(env, known);
  if (home === undefined)
    throw unavailable(
      'MISSING',
      'the shim for libtorch is kept in the caches of the user, who has no home: set HOME, or TRITONTS_CACHE to a folder',
    );
  const place = process.platform === 'darwin' ? ['Library', 'Caches'] : ['.cache'];
  return join(home, ...place, 'tritonts');
}

/** The folder of the shims for a libtorch. */
export function shimFolder(library: string, env: NodeJS.ProcessEnv = process.env): string {
  const name = createHash('sha256').update(library).digest('hex').slice(0, 16);
  return join(cacheFolder(env), 'pytorch', name);
}

/** What was built last for a libtorch; undefined if nothing was, or it is not readable. */
export function builtShim(library: string, env: NodeJS.ProcessEnv = process.env): BuiltShim | undefined {
  const file = join(shimFolder(library, env), 'build.json');
  if (!existsSync(file)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined; // Building again writes it anew.
  }
  return isBuiltShim(value) ? value : undefined;
}

const texts = ['file', 'library', 'version', 'stamp', 'source', 'compiler', 'digest'] as const;

function isBuiltShim(value: unknown): value is BuiltShim {
  if (typeof value !== 'object' || value === null) return false;
  const given = value as Readonly<Record<string, unknown>>;
  const { flags } = given;
  return (
    texts.every((key) => typeof given[key] === 'string') &&
    Array.isArray(flags) &&
    flags.every((flag) => typeof flag === 'string')
  );
}

/** The digest of a file; undefined if it cannot be read. */
export function digestOf(path: string): string | undefined {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch {
    return undefined;
  }
}

/** Why a shim does not fit; undefined if it does. */
export function unfitness(shim: BuiltShim, library: string, path: string): string | undefined {
  if (shim.stamp !== stampOf(library))
    return `it was built for libtorch ${shim.version}, and the library has changed since`;
  if (shim.source !== sourceDigest()) return 'it was built by another version of tritonts';
  if (shim.digest !== digestOf(path)) return `its file ${path} is damaged`;
  return undefined;
}

/**
 * Path of the shim for a libtorch.
 *
 * @throws {@link TritonError} UNAVAILABLE if there is none that fits, with the command that builds it.
 */
export function shimFor(library: string, env: NodeJS.ProcessEnv = process.env): string {
  const folder = shimFolder(library, env);
  const shim = builtShim(library, env);
  const path = shim && join(folder, shim.file);
  if (shim === undefined || path === undefined || !existsSync(path)) {
    throw unavailable(
      'MISSING',
      `libtorch was found ('${library}'), but the shim for it was not built: ${folder} has none. Run '${buildCommand}', ` +
        'which needs a C++ compiler',
    );
  }
  const why = unfitness(shim, library, path);
  if (why === undefined) return path;
  throw unavailable(
    'MISSING',
    `the shim for libtorch '${library}' does not fit: ${why}. Run '${buildCommand}' again`,
  );
}
