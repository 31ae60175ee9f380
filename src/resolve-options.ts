/** Checks a server's options once, when the server is created. */

import { checkCacheConfig } from './cache-config.js';
import { registeredCaches } from './cache/registered-caches.js';
import type { ResponseCache, ResponseCacheMaker } from './cache/response-cache.js';
import { checkHostPolicies } from './scheduling/host-policy.js';
import { checkRateLimit } from './scheduling/rate-limit.js';
import { spinCores } from './scheduling/spin.js';
import { fileURLToPath } from 'node:url';
import { isAbsolute, resolve } from 'node:path';
import { addon } from './addon/load.js';
import { backends } from './backends/index.js';
import { checkKeys, checkObject, expected, readList, readOptions, show } from './argument-checks.js';
import { inlineExpected, type InlineOption, loadExpected, readInline, readLoad } from './config/index.js';
import { invalidArgument } from './errors.js';
import { isKeyed } from './keyless.js';
import { mostThreads } from './most-threads.js';
import { printableLine } from './printable.js';
import { resolveLogger } from './logger.js';
import { registeredAgents } from './registry/agents/registered-agents.js';
import type { RepositoryAgent } from './registry/agents/repository-agent.js';
import { resolveMetrics } from './metrics/metrics-config.js';
import {
  isOtherAddress,
  isStoreAddress,
  readStorePlace,
  shownAddress,
} from './registry/sources/store/store-place.js';
import { checkTraceConfig } from './trace-config.js';
import type { ModelCode } from './javascript/model-code.js';
import { registeredBackends } from './javascript/versions/registered-backends.js';
import type { WorkersOptions } from './api/javascript-model.js';
import type {
  BackendConfig,
  GivenModel,
  GpuMemoryLimits,
  ResolvedOptions,
  ServerOptions,
} from './options.js';

const keys = [
  'modelRepository',
  'models',
  'exitOnError',
  'modelControlMode',
  'repositoryPollMs',
  'modelNamespacing',
  'repositoryCacheDirectory',
  'repositoryCacheBytes',
  'loadModels',
  'load',
  'memoryBudgetBytes',
  'id',
  'strictReadiness',
  'autoCompleteConfig',
  'instanceKind',
  'minSupportedComputeCapability',
  'pinnedMemoryPoolByteSize',
  'cudaMemoryPoolByteSize',
  'modelLoadConcurrency',
  'rateLimit',
  'hostPolicies',
  'cacheConfig',
  'cacheDirectory',
  'backendConfig',
  'trustedFolders',
  'outsideLinks',
  'backendDirectory',
  'repositoryAgentDirectory',
  'workers',
  'finalizeTimeoutMs',
  'threads',
  'maxInFlightBytes',
  'inline',
  'batchAcrossShapes',
  'captureStacks',
  'metricsConfig',
  'traceConfig',
  'signal',
  'onProgress',
  'logger',
] as const satisfies readonly (keyof ServerOptions)[];

function integer(value: unknown, least: number, path: string, most = Infinity): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) {
    const range =
      most === Infinity ? `of at least ${String(least)}` : `from ${String(least)} to ${String(most)}`;
    throw expected(`an integer ${range}`, path, value);
  }
  return value;
}

/** The longest time of a timer, about 25 days. */
const mostTimerMs = 2 ** 31 - 1;

/** Triton's defaults. */
const pinnedBytes = 256 * 2 ** 20;
const gpuBytes = 64 * 2 ** 20;

function gpuMemoryLimits(options: ServerOptions): GpuMemoryLimits {
  const pinned = integer(
    options.pinnedMemoryPoolByteSize ?? pinnedBytes,
    0,
    'options.pinnedMemoryPoolByteSize',
  );
  const path = 'options.cudaMemoryPoolByteSize';
  const given: unknown = options.cudaMemoryPoolByteSize ?? gpuBytes;
  if (typeof given === 'number') {
    return { pinnedBytes: pinned, gpuBytes: integer(given, 0, path), listed: [] };
  }
  if (!isKeyed(given)) throw expected('bytes, or bytes by the id of a GPU', path, given);
  const listed = Object.entries(given).map(([id, bytes]: [string, unknown]) => {
    if (!/^\d{1,2}$/.test(id) || Number(id) >= 64) throw expected('ids of GPUs, 0 to 63, as keys', path, id);
    return [Number(id), integer(bytes, 0, `${path}[${id}]`)] as const;
  });
  return { pinnedBytes: pinned, gpuBytes, listed };
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

/**
 * Converts a file: URL to a path. The URL may be invalid: it may name a host, or have an encoded slash in a
 * folder's name.
 */
function filePath(value: string | URL, path: string): string {
  try {
    return fileURLToPath(value);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : show(cause);
    throw invalidArgument(
      `expected the file: URL of a path for ${path} but received '${String(value)}': ${why}`,
      { cause },
    );
  }
}

/** Schemes have no case. */
function isFileUrl(text: string): boolean {
  return /^file:\/\//i.test(text);
}

function folderPath(value: unknown, path: string, base: string): string {
  const folder = anyPath(value, path, base);
  // No system has such a path, and each function that gets it would throw an error of its own.
  if (folder.includes('\0')) throw expected('a path without a zero character', path, value);
  return folder;
}

function anyPath(value: unknown, path: string, base: string): string {
  if (value instanceof URL) {
    if (value.protocol !== 'file:') throw expected('a path or a file: URL', path, value.href);
    return filePath(value, path);
  }
  if (typeof value !== 'string' || value === '') throw expected('a path or a file: URL', path, value);
  if (isFileUrl(value)) return filePath(value, path);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(value)) throw expected('a local folder', path, value);
  return resolvePath(value, path, base);
}

/**
 * Checks a repository.
 *
 * @param path - How messages name the value.
 * @param base - The folder that a relative path starts from; empty: a relative path is refused.
 * @returns Its folder, or the address of an object store without what does not matter in it, and its namespace on a server
 *   with namespaces: as in Triton the text that the user gave.
 * @throws {@link TritonError} INVALID_ARG for what is no path, no file: URL and no address of a store.
 */
export function repositoryOf(
  value: unknown,
  path: string,
  base: string,
): { readonly folder: string; readonly namespace: string } {
  const folder = repositoryPlace(value, path, base);
  return { folder, namespace: typeof value === 'string' && !isFileUrl(value) ? value : folder };
}

/** The parser of URLs escapes what a key may have, and takes a colon away: `s3://http://host` has an empty port. */
function unescaped(url: string): string {
  const href = url.replace(/^(s3|as):\/\/(https?)\/\//i, '$1://$2://');
  try {
    return decodeURI(href);
  } catch {
    return href;
  }
}

/** The path of a folder, or the address of an object store without what does not matter in it. */
function repositoryPlace(value: unknown, path: string, base: string): string {
  const text = value instanceof URL && value.protocol !== 'file:' ? unescaped(value.href) : value;
  if (typeof text === 'string' && isStoreAddress(text)) return readStorePlace(text, path).url;
  if (typeof text === 'string' && isOtherAddress(text) && !isFileUrl(text)) {
    throw invalidArgument(
      `expected a path, a file: URL, or an address that begins with s3://, gs:// or as://, for ${path} but received ${shownAddress(text)}`,
    );
  }
  return folderPath(value, path, base);
}

function checkBackendConfig(
  value: unknown,
  base: string,
  withPlugins: boolean,
): Readonly<Record<string, BackendConfig>> {
  checkObject(value, 'options.backendConfig');
  // Plug-ins of Triton have any names, and options of any name.
  const isPlugin = (name: string): boolean => withPlugins && !backends().has(name);
  const plugins = Object.keys(value).filter(isPlugin);
  checkKeys(value, [...backends().keys(), ...plugins], 'options.backendConfig');
  const checked: [string, BackendConfig][] = [];
  for (const [name, options] of Object.entries(value) as [string, unknown][]) {
    const path = `options.backendConfig.${name}`;
    const { optionKeys = [], paths } = backends().get(name) ?? {};
    checkObject(options, path);
    if (!isPlugin(name)) checkKeys(options, optionKeys, path);
    const entries: [string, string | number | boolean][] = [];
    for (const [key, option] of Object.entries(options) as [string, unknown][]) {
      if (typeof option !== 'string' && typeof option !== 'number' && typeof option !== 'boolean') {
        throw expected('a string, number or boolean', `${path}.${key}`, option);
      }
      const kind = paths?.[key];
      const place = (text: string): string => {
        // A library's name without a folder is left to the system's search.
        const isPath = kind === 'path' || /[/\\]/.test(text);
        return isPath ? resolvePath(text, `${path}.${key}`, base) : text;
      };
      const parts = kind === 'libraries' ? String(option).split(';') : [String(option)];
      entries.push([key, kind === undefined ? option : parts.map(place).join(';')]);
    }
    checked.push([name, Object.freeze(Object.fromEntries(entries))]);
  }
  return Object.freeze(Object.fromEntries(checked));
}

/** Checks the models that the program passes. Their files and configurations are checked when they are loaded. */
function checkModels(value: unknown): ReadonlyMap<string, GivenModel> {
  checkObject(value, 'options.models');
  const models = new Map<string, GivenModel>();
  for (const [name, model] of Object.entries(value) as [string, unknown][]) {
    const path = `options.models['${name}']`;
    if (name.trim() === '' || name === '..' || /[/\0]/.test(name)) {
      throw invalidArgument(
        `expected a model's name, without '/', as a key of options.models but received '${printableLine(name)}'`,
      );
    }
    checkObject(model, path);
    // The object is not copied: its functions may be inherited from its class.
    const { execute }: Partial<Record<string, unknown>> = model;
    if (execute !== undefined && execute !== null) {
      // Checked above to be an object with `execute`. Loading the model checks everything else.
      models.set(name, model as GivenModel);
      continue;
    }
    const known = ['config', 'files', 'module', 'execute'] as const;
    const read = readOptions<Record<(typeof known)[number], unknown>>(model, known, path);
    if (read.module === undefined) checkFiles(read.files, path);
    // Keys and files are checked above. Loading the model checks the configuration.
    models.set(name, read as GivenModel);
  }
  return models;
}

function checkFiles(files: unknown, path: string): void {
  checkObject(files, `${path}.files`);
  for (const [file, content] of Object.entries(files) as [string, unknown][]) {
    if (!(content instanceof Uint8Array)) throw expected('a Uint8Array', `${path}.files['${file}']`, content);
  }
}

/** Checks the threads' options. Node itself checks the limits and `execArgv` further when it starts a thread. */
function checkWorkers(value: unknown): WorkersOptions {
  const path = 'options.workers';
  const { resourceLimits, env, execArgv, unloadTimeoutMs } = readOptions<WorkersOptions>(
    value,
    ['resourceLimits', 'env', 'execArgv', 'unloadTimeoutMs'],
    path,
  );
  const limits = readOptions<NonNullable<WorkersOptions['resourceLimits']>>(
    resourceLimits,
    ['maxOldGenerationSizeMb', 'maxYoungGenerationSizeMb', 'codeRangeSizeMb', 'stackSizeMb'],
    `${path}.resourceLimits`,
  );
  for (const [key, limit] of Object.entries(limits)) {
    if (!(typeof limit === 'number' && limit > 0))
      throw expected('a number above 0', `${path}.resourceLimits.${key}`, limit);
  }
  if (env !== undefined) {
    checkObject(env, `${path}.env`);
    for (const [key, text] of Object.entries(env) as [string, unknown][])
      if (typeof text !== 'string') throw expected('a string', `${path}.env.${key}`, text);
  }
  if (execArgv !== undefined) {
    for (const [i, one] of readList(execArgv, 'an array of strings', `${path}.execArgv`).entries())
      if (typeof one !== 'string') throw expected('a string', `${path}.execArgv[${i}]`, one);
  }
  if (unloadTimeoutMs !== undefined) integer(unloadTimeoutMs, 0, `${path}.unloadTimeoutMs`);
  // All properties are checked above.
  return {
    ...(resourceLimits !== undefined && { resourceLimits: limits }),
    ...{ env, execArgv, unloadTimeoutMs },
  } as WorkersOptions;
}

/**
 * Checks options and fills in defaults.
 *
 * @param given - The options. Functions, signals and model objects are kept; everything else is copied.
 * @param base - The folder that relative paths start from (default: the working directory). If empty, relative
 *   paths are refused.
 * @param registered - The registered backends.
 * @param caches - The registered response caches.
 * @param agents - The registered repository agents.
 * @throws {@link TritonError} INVALID_ARG; it names the option, what was expected and what was received.
 */
export function resolveOptions(
  given: ServerOptions,
  base: string = process.cwd(),
  registered: ReadonlyMap<string, ModelCode> = registeredBackends(),
  caches: ReadonlyMap<string, ResponseCache | ResponseCacheMaker> = registeredCaches(),
  agents: ReadonlyMap<string, RepositoryAgent> = registeredAgents(),
): ResolvedOptions {
  // Unlike other functions, this one requires the options object.
  checkObject(given, 'options');
  // Each option that is present is checked below.
  const options = readOptions<ServerOptions>(given, keys, 'options') as ServerOptions;

  const models = checkModels(options.models ?? {});
  // A server with given models needs no repository.
  const repository: unknown = options.modelRepository ?? (models.size > 0 ? [] : undefined);
  const list = Array.isArray(repository)
    ? readList(repository, 'an array of folders', 'options.modelRepository')
    : [repository];
  if (list.length === 0 && models.size === 0)
    throw invalidArgument('expected at least one folder for options.modelRepository but received none');
  const repositories = new Map<string, string>();
  for (const [i, entry] of list.entries()) {
    const path = Array.isArray(repository) ? `options.modelRepository[${i}]` : 'options.modelRepository';
    const { folder, namespace } = repositoryOf(entry, path, base);
    // As in Triton, a folder that is given twice counts once.
    if (!repositories.has(folder)) repositories.set(folder, namespace);
  }
  const modelNamespacing = boolean(options.modelNamespacing ?? false, 'options.modelNamespacing');

  const mode: unknown = options.modelControlMode ?? 'none';
  if (mode !== 'none' && mode !== 'poll' && mode !== 'explicit')
    throw expected("'none', 'poll' or 'explicit'", 'options.modelControlMode', mode);
  if ((options.repositoryPollMs ?? undefined) !== undefined && mode !== 'poll') {
    throw invalidArgument(
      `options.repositoryPollMs needs modelControlMode: 'poll'; in mode '${mode}' repositories are not polled`,
    );
  }

  const threads = integer(
    options.threads ?? Math.min(addon().cores(), mostThreads),
    1,
    'options.threads',
    mostThreads,
  );
  const instanceKind: unknown = options.instanceKind;
  if (instanceKind !== undefined && instanceKind !== 'cpu') {
    throw expected("'cpu'", 'options.instanceKind', instanceKind);
  }

  const capability: unknown = options.minSupportedComputeCapability ?? 6;
  if (typeof capability !== 'number' || !(capability >= 0 && capability < 1000))
    throw expected('a compute capability such as 7.5', 'options.minSupportedComputeCapability', capability);

  const loadModels = readList(options.loadModels ?? [], 'an array of model names', 'options.loadModels');
  for (const [i, name] of loadModels.entries()) {
    if (typeof name !== 'string' || name === '')
      throw expected('a model name', `options.loadModels[${i}]`, name);
  }
  if (options.loadModels !== undefined && mode !== 'explicit') {
    throw invalidArgument(
      "options.loadModels needs modelControlMode: 'explicit'; in the modes 'none' and 'poll' all models are loaded",
    );
  }

  const load = readLoad(options.load ?? 'eager');
  if (load === undefined) throw expected(loadExpected, 'options.load', options.load);

  const id: unknown = options.id ?? 'tritonts';
  if (typeof id !== 'string' || id === '') throw expected('a name', 'options.id', id);

  const trusted = readList(options.trustedFolders ?? [], 'an array of folders', 'options.trustedFolders');

  const { signal, onProgress } = options;
  if (signal !== undefined && !((signal as unknown) instanceof AbortSignal)) {
    throw expected('an AbortSignal', 'options.signal', signal);
  }
  if (onProgress !== undefined && typeof (onProgress as unknown) !== 'function') {
    throw expected('a function', 'options.onProgress', onProgress);
  }

  return Object.freeze({
    repositories: [...repositories.keys()],
    modelNamespacing,
    namespaces: modelNamespacing ? repositories : undefined,
    repositoryCacheDirectory:
      options.repositoryCacheDirectory === undefined
        ? undefined
        : folderPath(options.repositoryCacheDirectory, 'options.repositoryCacheDirectory', base),
    repositoryCacheBytes: integer(
      options.repositoryCacheBytes ?? 10 * 2 ** 30,
      1,
      'options.repositoryCacheBytes',
    ),
    models,
    exitOnError: boolean(options.exitOnError ?? true, 'options.exitOnError'),
    modelControlMode: mode,
    repositoryPollMs: integer(options.repositoryPollMs ?? 15_000, 0, 'options.repositoryPollMs', mostTimerMs),
    // Each entry is checked above.
    loadModels: loadModels as readonly string[],
    load,
    memoryBudgetBytes:
      (options.memoryBudgetBytes ?? undefined) === undefined
        ? Infinity
        : integer(options.memoryBudgetBytes, 1, 'options.memoryBudgetBytes'),
    id,
    strictReadiness: boolean(options.strictReadiness ?? true, 'options.strictReadiness'),
    autoCompleteConfig: boolean(options.autoCompleteConfig ?? true, 'options.autoCompleteConfig'),
    instanceKind,
    minSupportedComputeCapability: capability,
    gpuMemory: gpuMemoryLimits(options),
    modelLoadConcurrency: integer(
      options.modelLoadConcurrency ?? 4,
      1,
      'options.modelLoadConcurrency',
      mostThreads,
    ),
    rateLimit: checkRateLimit(options.rateLimit),
    hostPolicies: checkHostPolicies(options.hostPolicies),
    ...checkCacheConfig(
      options.cacheConfig,
      caches,
      options.cacheDirectory === undefined
        ? undefined
        : folderPath(options.cacheDirectory, 'options.cacheDirectory', base),
    ),
    backendConfig: checkBackendConfig(
      options.backendConfig ?? {},
      base,
      options.backendDirectory !== undefined || trusted.length > 0,
    ),
    trustedFolders: trusted.map((folder, i) => folderPath(folder, `options.trustedFolders[${i}]`, base)),
    outsideLinks: boolean(options.outsideLinks ?? false, 'options.outsideLinks'),
    backendDirectory:
      options.backendDirectory === undefined
        ? undefined
        : folderPath(options.backendDirectory, 'options.backendDirectory', base),
    registeredBackends: registered,
    repositoryAgentDirectory:
      options.repositoryAgentDirectory === undefined
        ? undefined
        : folderPath(options.repositoryAgentDirectory, 'options.repositoryAgentDirectory', base),
    registeredAgents: agents,
    workers: checkWorkers(options.workers ?? {}),
    finalizeTimeoutMs: integer(options.finalizeTimeoutMs ?? 5000, 0, 'options.finalizeTimeoutMs'),
    threads,
    spinCores: spinCores(threads),
    maxInFlightBytes: integer(
      options.maxInFlightBytes ?? Math.floor(Math.min(2 ** 30, addon().memory() / 4)),
      1,
      'options.maxInFlightBytes',
    ),
    inline: inlineOption(options.inline ?? (process.env['TRITONTS_INLINE'] === '0' ? 'off' : 'auto')),
    batchAcrossShapes: boolean(options.batchAcrossShapes ?? true, 'options.batchAcrossShapes'),
    captureStacks: boolean(options.captureStacks ?? false, 'options.captureStacks'),
    metrics: resolveMetrics(options.metricsConfig ?? {}),
    trace: checkTraceConfig(options.traceConfig, base),
    signal,
    onProgress,
    log: resolveLogger(options.logger),
  });
}
