/**
 * Finds the library of a runtime that comes in an installed package or in a wheel of Python. Nothing is opened, and no
 * program is started.
 */

import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { unavailable } from '../errors.js';
import type { BackendConfig } from '../options.js';
import { homeFolder } from './home-folder.js';
import { findLibraryLike } from './system-libraries.js';

/** A library of a runtime: its names, and the places that may have it. */
export interface RuntimeLibrary {
  /** The runtime's name, such as `OpenVINO`. */
  readonly title: string;
  /** The name of the backend whose option `library` names it. */
  readonly backend: string;
  /** The library in messages, such as `OpenVINO's C API (libopenvino_c)`. */
  readonly what: string;
  /** The names of the file, by system, as a pattern and in messages. Systems that are not here are not searched. */
  readonly names: Readonly<
    Partial<Record<NodeJS.Platform, { readonly pattern: RegExp; readonly shown: string }>>
  >;
  /** The variable of the environment that names the file, or its folder. */
  readonly variable: string;
  /** The folders that its archives are usually unpacked to. */
  readonly usualFolders: readonly string[];
  /** The folder of the library in a folder of Python's packages. */
  readonly wheelFolder: string;
  /** The command that installs it. */
  readonly install: string;
}

/** The version in a library's name: 2641 and 2026.4.1 are both [2026, 4, 1]. Empty if there is none. */
function versionIn(name: string): readonly number[] {
  const numbers = /(?:\.\d+)+/.exec(name)?.[0].slice(1).split('.') ?? [];
  const short = numbers.length === 1 ? /^(\d\d)(\d+)(\d)$/.exec(numbers[0] ?? '') : null;
  return short ? [2000 + Number(short[1]), Number(short[2]), Number(short[3])] : numbers.map(Number);
}

/** Compares two names by the versions in them, the newest first. */
export function byVersion(a: string, b: string): number {
  const [left, right] = [versionIn(a), versionIn(b)];
  const at = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => i).find(
    (i) => left[i] !== right[i],
  );
  return at === undefined ? 0 : (right[at] ?? -1) - (left[at] ?? -1);
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // The folder does not exist, or may not be read.
  }
}

/** The newest library in a folder. */
function newestIn(folder: string, pattern: RegExp): string | undefined {
  const [name] = names(folder)
    .filter((one) => pattern.test(one))
    .sort(byVersion);
  return name === undefined ? undefined : join(folder, name);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The library that a user names, as a file or as the folder that has it. */
function named(library: RuntimeLibrary, path: string, by: string): string {
  if (!isFolder(path)) return path;
  const pattern = library.names[process.platform]?.pattern;
  const file = pattern && newestIn(path, pattern);
  if (file !== undefined) return file;
  throw unavailable('MISSING', `${by} names the folder ${path}, which has no library of ${library.what}`);
}

/** The folders of an installation of Python that have its packages, those of the newest version first. */
function packageFolders(lib: string, kinds: readonly string[]): string[] {
  return names(lib)
    .filter((name) => /^python3(\.\d+)?$/.test(name))
    .sort((a, b) => Number(b.slice('python3.'.length)) - Number(a.slice('python3.'.length)))
    .flatMap((name) => kinds.map((kind) => join(lib, name, kind)));
}

/** The prefixes of the first python3 in PATH: of a virtual environment, and of the Python that it was made with. */
function prefixesInPath(env: NodeJS.ProcessEnv): string[] {
  const program = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'python3'))
    .find((file) => existsSync(file));
  if (program === undefined) return [];
  return [program, realpathSync(program)].map((file) => dirname(dirname(file)));
}

/** The places where Python's wheel may have its libraries. */
function wheelFolders(inPackages: string, env: NodeJS.ProcessEnv): string[] {
  const site = ['site-packages'];
  const home = homeFolder(env);
  const prefixes = [env['VIRTUAL_ENV'], env['CONDA_PREFIX']].flatMap((prefix) =>
    prefix === undefined || prefix === '' ? [] : [join(prefix, 'lib')],
  );
  const packages = [
    ...prefixes.flatMap((lib) => packageFolders(lib, site)),
    ...(home === undefined ? [] : packageFolders(join(home, '.local', 'lib'), site)),
    ...packageFolders('/usr/lib', ['dist-packages']),
    ...packageFolders('/usr/local/lib', ['site-packages', 'dist-packages']),
    ...prefixesInPath(env).flatMap((prefix) => packageFolders(join(prefix, 'lib'), site)),
  ];
  return [...new Set(packages)].map((folder) => join(folder, inPackages));
}

/**
 * Path of a library: the one that the options name, or else the environment, or else the newest one of the first place
 * that has any.
 *
 * @throws {@link TritonError} UNAVAILABLE; it says what was searched, where, and what to install.
 */
export function findRuntimeLibrary(
  library: RuntimeLibrary,
  options: BackendConfig,
  env: NodeJS.ProcessEnv,
): string {
  const { title, backend, variable } = library;
  const option = options['library'];
  if (option !== undefined) return named(library, String(option), `backendConfig.${backend}.library`);
  const path = env[variable];
  if (path !== undefined && path !== '') return named(library, path, variable);
  const help =
    `install it with '${library.install}', or name its library, or the folder that has it, with ` +
    `backendConfig.${backend}.library or the environment variable ${variable}`;
  const searched = process.platform === 'win32' ? undefined : library.names[process.platform];
  if (searched === undefined)
    throw unavailable('MISSING', `${title} is not searched for on ${process.platform}: ${help}`);
  const { pattern, shown } = searched;
  const installed = findLibraryLike(pattern, byVersion, library.usualFolders, env);
  if ('path' in installed) return installed.path;
  const wheels = wheelFolders(library.wheelFolder, env);
  const wheel = wheels.map((folder) => newestIn(folder, pattern)).find((file) => file !== undefined);
  if (wheel !== undefined) return wheel;
  const places = [...installed.lookedIn, ...wheels].join(', ');
  throw unavailable('MISSING', `there is no ${title}: ${shown} is in none of ${places}. To have it, ${help}`);
}
