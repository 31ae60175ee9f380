/** Finds the call of a path. */

/**
 * Groups of calls, as tritonserver's `--http-restricted-api` names them.
 *
 * - `health`: liveness and readiness of the server and of models
 * - `metadata`: of the server and of models
 * - `inference`: infer, generate, generate_stream
 * - `model-config`: configurations
 * - `model-repository`: index, load, unload
 * - `statistics`: of models
 * - `logging`: settings of the log
 * - `shared-memory`: status, register, unregister
 * - `trace`: settings of traces
 * - `ui`: what the web page reads, and the requests of its form; Triton has no such group
 */
export type RestrictedGroup =
  | 'health'
  | 'metadata'
  | 'inference'
  | 'shared-memory'
  | 'model-config'
  | 'model-repository'
  | 'statistics'
  | 'trace'
  | 'logging'
  | 'ui';

/** A call of the protocol. */
export type Call =
  | 'live'
  | 'ready'
  | 'modelReady'
  | 'metadata'
  | 'modelMetadata'
  | 'infer'
  | 'generate'
  | 'generateStream'
  | 'binaryStream'
  | 'config'
  | 'statistics'
  | 'index'
  | 'load'
  | 'unload'
  | 'repositoryLoad'
  | 'trace'
  | 'logging'
  | 'systemStatus'
  | 'systemRegister'
  | 'systemUnregister'
  | 'cudaStatus'
  | 'cudaRegister'
  | 'cudaUnregister';

/** The group of each call, by which access can be restricted. */
const groups: Readonly<Record<Call, RestrictedGroup>> = {
  live: 'health',
  ready: 'health',
  modelReady: 'health',
  metadata: 'metadata',
  modelMetadata: 'metadata',
  infer: 'inference',
  generate: 'inference',
  generateStream: 'inference',
  binaryStream: 'inference',
  config: 'model-config',
  statistics: 'statistics',
  index: 'model-repository',
  load: 'model-repository',
  unload: 'model-repository',
  repositoryLoad: 'model-repository',
  trace: 'trace',
  logging: 'logging',
  systemStatus: 'shared-memory',
  systemRegister: 'shared-memory',
  systemUnregister: 'shared-memory',
  cudaStatus: 'shared-memory',
  cudaRegister: 'shared-memory',
  cudaUnregister: 'shared-memory',
};

/** All groups. */
export const restrictedGroups: readonly RestrictedGroup[] = [...new Set(Object.values(groups)), 'ui'];

/** The call of `binaryStream`, which has no path of the protocol, by the route of `infer`. */
export function binaryStreamOf(infer: Route): Route {
  return { ...infer, call: 'binaryStream', group: groups.binaryStream };
}

/** The call of a path. */
export interface Route {
  readonly call: Call;
  readonly group: RestrictedGroup;
  readonly methods: readonly string[];
  /** The name of the model, or of the region of shared memory. Empty if the call names none. */
  readonly model: string;
  readonly version: string | undefined;
}

const get: readonly string[] = ['GET'];
const post: readonly string[] = ['POST'];
const both: readonly string[] = ['GET', 'POST'];

const fixed: ReadonlyMap<string, readonly [Call, readonly string[]]> = new Map([
  ['/v2', ['metadata', get]],
  ['/v2/', ['metadata', get]],
  ['/v2/health/live', ['live', get]],
  ['/v2/health/ready', ['ready', get]],
  ['/v2/models/stats', ['statistics', get]],
  ['/v2/trace/setting', ['trace', both]],
  ['/v2/logging', ['logging', both]],
  ['/v2/repository/index', ['index', post]],
]);

const modelPath =
  /^\/v2\/models\/([^/]+)(?:\/versions\/(\d+))?(?:\/(infer|generate|generate_stream|ready|config|stats))?$/;
const tracePath = /^\/v2\/models\/([^/]+)\/trace\/setting$/;
const indexPath = /^\/v2\/repository\/[^/]+\/index$/;
const controlPath = /^\/v2\/repository\/(?:([^/]+)\/)?models\/([^/]+)\/(load|unload)$/;
const memoryPath = /^\/v2\/(system|cuda)sharedmemory(?:\/region\/([^/]+))?\/(status|register|unregister)$/;

/** The calls about shared memory, by the kind of memory and the end of the path. */
const memoryCalls: Readonly<Record<string, readonly [Call, readonly string[]]>> = {
  'system status': ['systemStatus', get],
  'system register': ['systemRegister', post],
  'system unregister': ['systemUnregister', post],
  'cuda status': ['cudaStatus', get],
  'cuda register': ['cudaRegister', post],
  'cuda unregister': ['cudaUnregister', post],
};

const ofModel: Readonly<Record<string, readonly [Call, readonly string[]]>> = {
  infer: ['infer', post],
  generate: ['generate', post],
  generate_stream: ['generateStream', post],
  ready: ['modelReady', get],
  config: ['config', get],
  stats: ['statistics', get],
};

function route(
  [call, methods]: readonly [Call, readonly string[]],
  model = '',
  version?: string,
): Route | undefined {
  const name = decoded(model);
  if (name === undefined) return undefined;
  // Leading zeros do not count: version 01 is version 1.
  return { call, group: groups[call], methods, model: name, version: version?.replace(/^0+(?=\d)/, '') };
}

/** A name in a path with percent-encoded bytes decoded; undefined for an invalid encoding. */
function decoded(name: string): string | undefined {
  if (!name.includes('%')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

/**
 * The call that a path leads to; undefined if there is none.
 *
 * @param path - Without its query.
 */
export function routeOf(path: string): Route | undefined {
  const known = fixed.get(path);
  if (known !== undefined) return route(known);
  const model = modelPath.exec(path);
  if (model !== null) return route(ofModel[model[3] ?? ''] ?? ['modelMetadata', get], model[1], model[2]);
  const control = controlPath.exec(path);
  if (control !== null) {
    const call = control[3] === 'load' ? 'load' : 'unload';
    return route([control[1] === undefined ? call : 'repositoryLoad', post], control[2]);
  }
  if (indexPath.test(path)) return route(['index', post]);
  const trace = tracePath.exec(path);
  if (trace !== null) return route(['trace', both], trace[1]);
  const memory = memoryPath.exec(path);
  const call = memory === null ? undefined : memoryCalls[`${memory[1]} ${memory[3]}`];
  // A region is registered under a name.
  if (call === undefined || (memory?.[3] === 'register' && memory[2] === undefined)) return undefined;
  return route(call, memory?.[2]);
}

/** How many routes are kept. The limit is needed because clients may ask for any name. */
const mostKept = 1024;

/** Finds routes, and keeps them: most requests have one of a few paths. */
export class Routes {
  readonly #kept: Map<string, Route> = new Map();

  /** @param url - Path and query. */
  of(url: string): Route | undefined {
    const kept = this.#kept.get(url);
    if (kept !== undefined) return kept;
    // A client may send an absolute URL, as to a proxy.
    const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
    const query = target.indexOf('?');
    const found = routeOf(query < 0 ? target : target.slice(0, query));
    if (found === undefined || url.length > 1024) return found;
    if (this.#kept.size === mostKept) this.#kept.clear();
    this.#kept.set(url, found);
    return found;
  }
}
