/** Options of a server: what they are, and their checks, once, at the door. */

import { fileURLToPath } from 'node:url';
import { isAbsolute, resolve } from 'node:path';
import { addon } from './addon/load.js';
import { backends } from './backends/index.js';
import { checkKeys, checkObject, expected } from './checks.js';
import { inlineExpected, readInline, type InlineOption } from './config/index.js';
import { invalidArgument } from './errors.js';

/** Options of one backend: strings, numbers or booleans by key. Triton: `--backend-config=<backend>,<key>=<value>`. */
export type BackendConfig = Readonly<Record<string, string | number | boolean>>;

/** A step of loading, for progress lines. */
export interface LoadEvent {
  readonly model: string;
  /** Absent while the model's versions are not known yet. */
  readonly version?: string | undefined;
  readonly state: 'LOADING' | 'READY' | 'UNAVAILABLE';
  /** Models that are ready or have failed. */
  readonly done: number;
  /** Models to load. */
  readonly total: number;
}

/** Options of {@link createServer}; most are tritonserver's flags in camelCase. */
export interface ServerOptions {
  /** Folders of models, as paths or file URLs. Triton: `--model-repository`. */
  readonly modelRepository: string | URL | readonly (string | URL)[];
  /**
   * Whether `createServer` rejects when a model cannot be loaded (default true); otherwise the others are served and
   * that one is UNAVAILABLE with its reason in the index. Triton: `--exit-on-error`.
   */
  readonly exitOnError?: boolean | undefined;
  /** 'none' (default): all models are loaded, once; 'explicit': only on request. Triton: `--model-control-mode`. */
  readonly modelControlMode?: 'none' | 'explicit' | undefined;
  /** In explicit mode, what to load at the start; `['*']` alone: all. Triton: `--load-model`. */
  readonly loadModels?: readonly string[] | undefined;
  /**
   * Whether what a config leaves out is completed from the model's file (default true). Triton:
   * `--disable-auto-complete-config`.
   */
  readonly autoCompleteConfig?: boolean | undefined;
  /** 'cpu' runs models whose instance groups say KIND_GPU on the CPU; by default they need a GPU. */
  readonly instanceKind?: 'cpu' | undefined;
  /**
   * Model versions that are loaded at once (default 4); more than there are cores only where loads wait for longer than
   * 20 ms. Triton: `--model-load-thread-count`.
   */
  readonly modelLoadConcurrency?: number | undefined;
  /**
   * Options by backend. `onnxruntime.library`: path of the ONNX Runtime library to use instead of the one that the
   * package onnxruntime-node carries. Triton: `--backend-config`.
   */
  readonly backendConfig?: Readonly<Record<string, BackendConfig>> | undefined;
  /**
   * Folders, as paths or file URLs, in which a model's configuration may name libraries of operators to load and profiles
   * to write, besides the model's own folder and, for libraries, that of the ONNX Runtime library. Nothing else that a
   * repository says loads code from, or writes to, places of its choice; see docs/security.md.
   */
  readonly trustedFolders?: readonly (string | URL)[] | undefined;
  /** Cores to use (default: what affinity and cgroup quota leave). */
  readonly threads?: number | undefined;
  /**
   * Bytes that requests in flight hold: their inputs, known outputs, and answers until they are delivered (default: 1 GiB,
   * or a quarter of the memory limit where that is less). A request beyond it rejects with UNAVAILABLE; `map` waits instead.
   */
  readonly maxInFlightBytes?: number | undefined;
  /**
   * Whether short batches run on the JS thread, which saves waking another one: 'auto' (default) runs those there that
   * are known, by their shapes and size, to take 50 µs or less; 'off' none; a number is that many microseconds. At
   * most that much time is spent so in one tick. A model's own parameter `inline` wins.
   */
  readonly inline?: 'auto' | 'off' | number | undefined;
  /**
   * Whether failures after queueing carry the line that made the request in their stack, at the cost of about 2.5 µs a
   * request (default false).
   */
  readonly captureStacks?: boolean | undefined;
  /** Gives up loading: `createServer` rejects with CANCELLED, with everything released. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Told of each step of loading. What it throws rejects the call that loads, and it is told nothing more of that call:
   * `createServer` gives up the other models and releases everything; `loadModel` rejects when its load has ended, and
   * `index()` tells how. What it returns is not looked at.
   */
  readonly onProgress?: ((event: LoadEvent) => void) | undefined;
}

/** Options with every default in place; what the rest of the code receives. */
export interface ResolvedOptions {
  readonly repositories: readonly string[];
  readonly exitOnError: boolean;
  readonly modelControlMode: 'none' | 'explicit';
  readonly loadModels: readonly string[];
  readonly autoCompleteConfig: boolean;
  readonly instanceKind: 'cpu' | undefined;
  readonly modelLoadConcurrency: number;
  readonly backendConfig: Readonly<Record<string, BackendConfig>>;
  readonly trustedFolders: readonly string[];
  readonly threads: number;
  readonly maxInFlightBytes: number;
  readonly inline: InlineOption;
  readonly captureStacks: boolean;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((event: LoadEvent) => void) | undefined;
}

const keys = [
  'modelRepository',
  'exitOnError',
  'modelControlMode',
  'loadModels',
  'autoCompleteConfig',
  'instanceKind',
  'modelLoadConcurrency',
  'backendConfig',
  'trustedFolders',
  'threads',
  'maxInFlightBytes',
  'inline',
  'captureStacks',
  'signal',
  'onProgress',
] as const satisfies readonly (keyof ServerOptions)[];

function integer(value: unknown, least: number, path: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least) {
    throw expected(`an integer of at least ${String(least)}`, path, value);
  }
  return value;
}

function boolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw expected('true or false', path, value);
  return value;
}

function inlineOption(value: unknown): InlineOption {
  const inline = readInline(value);
  if (inline === undefined) throw expected(inlineExpected, 'options.inline', value);
  return inline;
}

function resolvePath(value: string, path: string, base: string): string {
  if (base === '' && !isAbsolute(value)) {
    throw invalidArgument(
      `expected an absolute path for ${path}, because the working directory is gone, but received '${value}'`,
    );
  }
  return resolve(base, value);
}

function folderPath(value: unknown, path: string, base: string): string {
  if (value instanceof URL) {
    if (value.protocol !== 'file:') throw expected('a path or a file: URL', path, value.href);
    return fileURLToPath(value);
  }
  if (typeof value !== 'string' || value === '') throw expected('a path or a file: URL', path, value);
  if (value.startsWith('file://')) return fileURLToPath(value);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(value)) throw expected('a local folder', path, value);
  return resolvePath(value, path, base);
}

function checkBackendConfig(value: unknown, base: string): Readonly<Record<string, BackendConfig>> {
  checkObject(value, 'options.backendConfig');
  checkKeys(value, [...backends().keys()], 'options.backendConfig');
  const checked: [string, BackendConfig][] = [];
  for (const [name, options] of Object.entries(value) as [string, unknown][]) {
    const path = `options.backendConfig.${name}`;
    const { optionKeys = [], paths } = backends().get(name) ?? {};
    checkObject(options, path);
    checkKeys(options, optionKeys, path);
    const entries: [string, string | number | boolean][] = [];
    for (const [key, option] of Object.entries(options) as [string, unknown][]) {
      if (typeof option !== 'string' && typeof option !== 'number' && typeof option !== 'boolean') {
        throw expected('a string, number or boolean', `${path}.${key}`, option);
      }
      // The system looks for a library that has a name and no folder.
      const isPath = paths?.[key] === 'path' || (paths?.[key] === 'library' && /[/\\]/.test(String(option)));
      entries.push([key, isPath ? resolvePath(String(option), `${path}.${key}`, base) : option]);
    }
    checked.push([name, Object.freeze(Object.fromEntries(entries))]);
  }
  return Object.freeze(Object.fromEntries(checked));
}

/**
 * Checks options and fills in defaults.
 *
 * @param options - Nothing of them is kept but functions and signals.
 * @param base - Where relative paths start (default: the working directory); empty: nowhere.
 * @throws {TritonError} INVALID_ARG that names the option, what was expected and what came.
 */
export function resolveOptions(options: ServerOptions, base: string = process.cwd()): ResolvedOptions {
  const given: unknown = options;
  checkObject(given, 'options');
  checkKeys(given, keys, 'options');

  const repository: unknown = options.modelRepository;
  const list: readonly unknown[] = Array.isArray(repository) ? repository : [repository];
  if (list.length === 0)
    throw invalidArgument('expected at least one folder for options.modelRepository but received none');
  const repositories = list.map((entry, i) =>
    folderPath(
      entry,
      Array.isArray(repository) ? `options.modelRepository[${i}]` : 'options.modelRepository',
      base,
    ),
  );

  const mode: unknown = options.modelControlMode ?? 'none';
  if (mode !== 'none' && mode !== 'explicit')
    throw expected("'none' or 'explicit'", 'options.modelControlMode', mode);

  const instanceKind: unknown = options.instanceKind;
  if (instanceKind !== undefined && instanceKind !== 'cpu') {
    throw expected("'cpu'", 'options.instanceKind', instanceKind);
  }

  const loadModels: unknown = options.loadModels ?? [];
  if (!Array.isArray(loadModels)) throw expected('an array of model names', 'options.loadModels', loadModels);
  for (const [i, name] of loadModels.entries()) {
    if (typeof name !== 'string' || name === '')
      throw expected('a model name', `options.loadModels[${i}]`, name);
  }
  if (options.loadModels !== undefined && mode !== 'explicit') {
    throw invalidArgument(
      "options.loadModels needs modelControlMode: 'explicit'; in mode 'none' all models are loaded",
    );
  }

  const trusted: unknown = options.trustedFolders ?? [];
  if (!Array.isArray(trusted)) throw expected('an array of folders', 'options.trustedFolders', trusted);

  const { signal, onProgress } = options;
  if (signal !== undefined && !((signal as unknown) instanceof AbortSignal)) {
    throw expected('an AbortSignal', 'options.signal', signal);
  }
  if (onProgress !== undefined && typeof (onProgress as unknown) !== 'function') {
    throw expected('a function', 'options.onProgress', onProgress);
  }

  return Object.freeze({
    repositories,
    exitOnError: boolean(options.exitOnError ?? true, 'options.exitOnError'),
    modelControlMode: mode,
    // Each entry was checked just above.
    loadModels: [...(loadModels as readonly string[])],
    autoCompleteConfig: boolean(options.autoCompleteConfig ?? true, 'options.autoCompleteConfig'),
    instanceKind,
    modelLoadConcurrency: integer(options.modelLoadConcurrency ?? 4, 1, 'options.modelLoadConcurrency'),
    backendConfig: checkBackendConfig(options.backendConfig ?? {}, base),
    trustedFolders: trusted.map((folder: unknown, i) =>
      folderPath(folder, `options.trustedFolders[${i}]`, base),
    ),
    threads: integer(options.threads ?? addon().cores(), 1, 'options.threads'),
    maxInFlightBytes: integer(
      options.maxInFlightBytes ?? Math.floor(Math.min(2 ** 30, addon().memory() / 4)),
      1,
      'options.maxInFlightBytes',
    ),
    inline: inlineOption(options.inline ?? (process.env['TRITONTS_INLINE'] === '0' ? 'off' : 'auto')),
    captureStacks: boolean(options.captureStacks ?? false, 'options.captureStacks'),
    signal,
    onProgress,
  });
}
