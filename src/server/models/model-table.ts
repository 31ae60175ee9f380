/**
 * The models of a server as one environment sees them. It reads them again when the engine's epoch has moved.
 */

import { findModel } from '../../addon/find-model.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { EngineConnection } from '../../dispatch/engine-connection.js';
import { printableLine } from '../../printable.js';
import { didYouMean } from '../../suggest.js';
import { TritonError, unavailable, type TritonErrorReason } from '../../errors.js';
import { keyText, type ModelKey } from '../../model-key.js';
import { ModelKeyMap } from '../../model-key-map.js';
import type { PublishedModel, PublishedVersion } from '../../registry/entries/published.js';
import type { TraceState } from '../trace/trace-state.js';
import { hasFailed, mayBeNewer, sleeps } from '../lazy/sleeping.js';
import type { LazyLoads } from '../lazy/lazy-loads.js';
import { type Newest, ReadyVersion } from './ready-version.js';

/** A model as it was published, with its served versions prepared. */
export interface TableEntry {
  readonly key: ModelKey;
  readonly revision: number;
  readonly published: PublishedModel;
  /** Served versions, newest first. */
  readonly ready: readonly ReadyVersion[];
  /** Whether a request would have it loaded: it is lazy, and no version is served. */
  readonly sleeps: boolean;
  /** Of such a model: what was served before, newest first; empty if that is not known. */
  readonly sleeping: readonly ReadyVersion[];
}

/** See the head of this file. */
export class ModelTable {
  readonly connection: EngineConnection;
  readonly #server: NativeServer;
  readonly #entries: ModelKeyMap<TableEntry> = new ModelKeyMap();
  /** Requests in flight refer to the table weakly, so that they do not keep a dropped server alive. */
  readonly #self: WeakRef<ModelTable> = new WeakRef(this);

  /** Of {@link ServerParts}. */
  readonly caller: (() => number) | undefined;

  /** Whether requests may be traced. */
  readonly traces: TraceState;

  /** How lazy models are asked for. */
  readonly lazy: LazyLoads;

  constructor(
    server: NativeServer,
    connection: EngineConnection,
    traces: TraceState,
    lazy: LazyLoads,
    caller?: () => number,
  ) {
    this.traces = traces;
    this.lazy = lazy;
    this.#server = server;
    this.caller = caller;
    this.connection = connection;
  }

  /** All models that a repository knows, sorted by name. */
  keys(): ModelKey[] {
    return this.#server.modelKeys();
  }

  /**
   * The model that a name alone means; undefined if no repository knows it.
   *
   * @throws {@link TritonError} INVALID_ARG if several namespaces have a model of this name.
   */
  find(name: string): ModelKey | undefined {
    return findModel(this.#server, name);
  }

  /** The model of a namespace; undefined if it has none of this name. */
  findIn(key: ModelKey): ModelKey | undefined {
    return this.entry(key) && key;
  }

  /**
   * The same as {@link find}.
   *
   * @throws {@link TritonError} NOT_FOUND if no repository knows it, UNAVAILABLE once the server closes, INVALID_ARG as
   *   {@link find}.
   */
  keyOf(name: string): ModelKey {
    this.checkOpen();
    const key = this.find(name);
    if (key) return key;
    throw this.unknown(name);
  }

  /**
   * The same as {@link findIn}.
   *
   * @throws {@link TritonError} NOT_FOUND if the namespace has none of this name, UNAVAILABLE once the server closes.
   */
  keyIn(key: ModelKey): ModelKey {
    this.checkOpen();
    if (this.findIn(key)) return key;
    throw this.unknownIn(key);
  }

  /** The model as it is now; undefined if no repository knows it. */
  entry(key: ModelKey): TableEntry | undefined {
    const known = this.#entries.get(key);
    const read = this.#server.read(key, known?.revision ?? -1);
    if (!read) {
      this.#entries.delete(key);
      return undefined;
    }
    if (read.json === undefined) return known;
    // `Registry` wrote it, of the same copy of the package or of one with the same format.
    const published = JSON.parse(read.json) as PublishedModel;
    const ready: ReadyVersion[] = [];
    for (const { version, state, descriptor } of published.versions) {
      if (state !== 'READY' || !descriptor) continue;
      ready.push(
        known?.ready.find((one) => one.uid === descriptor.uid && one.changes === descriptor.changes) ??
          new ReadyVersion(key.name, version, descriptor, newestOf(this.#self, key)),
      );
    }
    const prepared = [...(known?.ready ?? []), ...(known?.sleeping ?? [])];
    const sleeping = (published.lazy ?? []).map(
      ({ version, descriptor }) =>
        prepared.find(({ uid }) => uid === descriptor.uid) ??
        new ReadyVersion(key.name, version, descriptor, newestOf(this.#self, key)),
    );
    ready.sort(newestFirst);
    sleeping.sort(newestFirst);
    const { revision } = read;
    const entry: TableEntry = { key, revision, published, ready, sleeps: sleeps(published), sleeping };
    this.#entries.set(key, entry);
    return entry;
  }

  /**
   * Throws once the server closes.
   *
   * @throws {@link TritonError} UNAVAILABLE.
   */
  checkOpen(): void {
    if (this.connection.closed) throw unavailable('CLOSED', 'the server is closed');
  }

  /**
   * The version that serves a request.
   *
   * @param version - The version that was asked for; undefined: the newest ready one.
   * @throws {@link TritonError} NOT_FOUND for an unknown or unloaded model or version, UNAVAILABLE for one
   *   that failed or is loading, with its reason.
   */
  resolve(key: ModelKey, version: string | undefined): ReadyVersion {
    this.checkOpen();
    return this.#versionOf(this.entry(key), key, version);
  }

  #versionOf(entry: TableEntry | undefined, key: ModelKey, version: string | undefined): ReadyVersion {
    if (!entry) throw this.unknown(key.name);
    const found =
      version === undefined ? entry.ready[0] : entry.ready.find((ready) => ready.version === version);
    if (found) return found;
    if (entry.sleeps && !hasFailed(entry.published)) {
      throw unavailable('NOT_READY', `model '${keyText(key)}' is lazy, and is not loaded at the moment`, {
        model: key.name,
      });
    }
    throw notReady(entry, version);
  }

  /**
   * The same; undefined for a lazy model that is not loaded.
   *
   * @throws {@link TritonError} As {@link resolve}.
   */
  resolveAwake(key: ModelKey, version: string | undefined): ReadyVersion | undefined {
    this.checkOpen();
    // Another thread may unload it at any moment, so it is read once.
    const entry = this.entry(key);
    return entry?.sleeps === true ? undefined : this.#versionOf(entry, key, version);
  }

  /**
   * The version that tells of a model: its configuration, its tensors. Of a lazy model that is not loaded it is the one that
   * was served last.
   *
   * @throws {@link TritonError} As {@link resolve}; UNAVAILABLE for a lazy model that was never loaded.
   */
  describe(key: ModelKey, version: string | undefined): ReadyVersion {
    this.checkOpen();
    const entry = this.entry(key);
    if (entry?.sleeps !== true) return this.#versionOf(entry, key, version);
    const found =
      version === undefined ? entry.sleeping[0] : entry.sleeping.find((one) => one.version === version);
    if (found) return found;
    if (version !== undefined && entry.sleeping.length > 0 && !mayBeNewer(version, entry.sleeping))
      throw notReady(entry, version);
    const what = entry.sleeping.length > 0 ? ` with version ${version ?? ''}` : '';
    throw unavailable(
      'NOT_READY',
      `model '${keyText(key)}' is lazy, and was not loaded${what} yet: its tensors and its configuration are known when it is, ` +
        `at its first request, or with await server.loadModel('${key.name}')`,
      { model: key.name },
    );
  }

  /** The error for a name that a namespace does not have. */
  unknownIn({ namespace, name }: ModelKey): TritonError {
    const others = this.keys().filter((key) => key.name === name);
    if (others.length === 0) return this.unknown(name);
    const shown = others.map((key) => `'${printableLine(key.namespace)}'`).join(', ');
    return new TritonError(
      'NOT_FOUND',
      `model '${printableLine(name)}' is not in the namespace '${printableLine(namespace)}'; these have it: ${shown}`,
      { model: name },
    );
  }

  /** The error for a name that no repository knows. */
  unknown(name: string): TritonError {
    const names = [...new Set(this.keys().map((key) => key.name))];
    const shown = names.length > 12 ? `${names.slice(0, 12).join(', ')}, …` : names.join(', ');
    return new TritonError(
      'NOT_FOUND',
      `unknown model '${printableLine(name)}'${didYouMean(name, names)}; the server's models are: ${shown === '' ? '(none)' : printableLine(shown)}`,
      { model: name },
    );
  }
}

function newestFirst(a: ReadyVersion, b: ReadyVersion): number {
  return Number(b.version) - Number(a.version);
}

function newestOf(table: WeakRef<ModelTable>, key: ModelKey): Newest {
  const known = (): ModelTable => {
    const found = table.deref();
    if (found !== undefined) return found;
    throw unavailable('CLOSED', 'the server is closed');
  };
  return {
    version: (number) => known().resolve(key, number),
    reload: () => {
      const found = table.deref();
      return found?.entry(key)?.sleeps === true ? found.lazy.wake(key) : undefined;
    },
  };
}

function describe({ version, state, reason }: PublishedVersion): string {
  return `version ${version} is ${state}${reason === '' ? '' : `: ${reason}`}`;
}

/** One that is being loaded or unloaded may be ready soon. */
function whyNotReady(
  all: readonly { readonly state: string; readonly errorReason?: TritonErrorReason | undefined }[],
): TritonErrorReason {
  if (all.some(({ state }) => state === 'LOADING' || state === 'UNLOADING')) return 'NOT_READY';
  return all.find(({ errorReason }) => errorReason !== undefined)?.errorReason ?? 'LOAD_FAILED';
}

/** The error for a known model, or a version of it, that is not served. */
function notReady({ key, published }: TableEntry, version: string | undefined): TritonError {
  const { name } = key;
  const text = `model '${keyText(key)}'`;
  const asked = published.versions.filter(
    (known) => version === undefined || String(known.version) === version,
  );
  const what = version === undefined ? text : `${text}, version ${version}`;
  const failed = asked.filter(({ state, reason }) => !(state === 'UNAVAILABLE' && reason === 'unloaded'));
  if (failed.length > 0) {
    return unavailable(whyNotReady(failed), `${what} is not ready: ${failed.map(describe).join('; ')}`, {
      model: name,
    });
  }
  if (published.state !== '' && published.reason !== 'unloaded') {
    return unavailable(
      whyNotReady([published]),
      `${what} is not ready: it is ${published.state}: ${published.reason}`,
      {
        model: name,
      },
    );
  }
  const ready = published.versions.filter(({ state }) => state === 'READY').map((known) => known.version);
  const rest =
    ready.length > 0
      ? `the ready versions: ${ready.join(', ')}`
      : asked.length > 0
        ? 'it was unloaded'
        : 'it is not loaded';
  return new TritonError('NOT_FOUND', `${what} is not available: ${rest}`, { model: name });
}
