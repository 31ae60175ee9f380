/**
 * Finds the C library of OpenVINO, of an installed package or of Python's wheel. Nothing is opened, and no program is
 * started.
 */

import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { unavailable } from '../../errors.js';
import type { BackendConfig } from '../../options.js';
import { findLibraryLike } from '../system-libraries.js';

/** The names of the library. Those of wheels and packages end with a version. */
const fileName: Readonly<Partial<Record<NodeJS.Platform, RegExp>>> = {
  linux: /^libopenvino_c\.so(\.\d+)*$/,
  darwin: /^libopenvino_c(\.\d+)*\.dylib$/,
  win32: /^openvino_c\.dll$/,
};

/** The variable of the environment that names the library, or its folder. */
const variable = 'TRITONTS_OPENVINO_PATH';

/** The folders that OpenVINO's archives are usually unpacked to. */
const usualFolders: readonly string[] = ['intel64', 'aarch64', 'arm64/Release'].map(
  (place) => `/opt/intel/openvino/runtime/lib/${place}`,
);

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
function named(path: string, by: string): string {
  if (!isFolder(path)) return path;
  const pattern = fileName[process.platform];
  const file = pattern && newestIn(path, pattern);
  if (file !== undefined) return file;
  throw unavailable(
    'MISSING',
    `${by} names the folder ${path}, which has no library of OpenVINO's C API (libopenvino_c)`,
  );
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
function wheelFolders(env: NodeJS.ProcessEnv): string[] {
  const site = ['site-packages'];
  const prefixes = [env['VIRTUAL_ENV'], env['CONDA_PREFIX']].flatMap((prefix) =>
    prefix === undefined || prefix === '' ? [] : [join(prefix, 'lib')],
  );
  const packages = [
    ...prefixes.flatMap((lib) => packageFolders(lib, site)),
    ...packageFolders(join(env['HOME'] ?? homedir(), '.local', 'lib'), site),
    ...packageFolders('/usr/lib', ['dist-packages']),
    ...packageFolders('/usr/local/lib', ['site-packages', 'dist-packages']),
    ...prefixesInPath(env).flatMap((prefix) => packageFolders(join(prefix, 'lib'), site)),
  ];
  return [...new Set(packages)].map((folder) => join(folder, 'openvino', 'libs'));
}

/**
 * Path of the library: the one that the options name, or else the environment, or else the newest one of the first
 * place that has any.
 *
 * @throws {@link TritonError} UNAVAILABLE; it says what was searched, where, and what to install.
 */
export function openVinoLibrary(options: BackendConfig, env: NodeJS.ProcessEnv = process.env): string {
  const option = options['library'];
  if (option !== undefined) return named(String(option), 'backendConfig.openvino.library');
  const path = env[variable];
  if (path !== undefined && path !== '') return named(path, variable);
  const help =
    "install it with 'pip install openvino', or name its library, or the folder that has it, with " +
    `backendConfig.openvino.library or the environment variable ${variable}`;
  const pattern = fileName[process.platform];
  if (pattern === undefined || process.platform === 'win32')
    throw unavailable('MISSING', `OpenVINO is not searched for on ${process.platform}: ${help}`);
  const installed = findLibraryLike(pattern, byVersion, usualFolders, env);
  if ('path' in installed) return installed.path;
  const wheels = wheelFolders(env);
  const wheel = wheels.map((folder) => newestIn(folder, pattern)).find((file) => file !== undefined);
  if (wheel !== undefined) return wheel;
  const places = [...installed.lookedIn, ...wheels].join(', ');
  const wanted = process.platform === 'linux' ? 'libopenvino_c.so*' : 'libopenvino_c*.dylib';
  throw unavailable(
    'MISSING',
    `there is no OpenVINO: ${wanted} is in none of ${places}. To have it, ${help}`,
  );
}
