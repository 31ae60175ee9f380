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
import { ReadyVersion } from './ready-version.js';

/** A model as it was published, with its served versions prepared. */
export interface TableEntry {
  readonly key: ModelKey;
  readonly revision: number;
  readonly published: PublishedModel;
  /** Served versions, newest first. */
  readonly ready: readonly ReadyVersion[];
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

  constructor(server: NativeServer, connection: EngineConnection, traces: TraceState, caller?: () => number) {
    this.traces = traces;
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

  /**
   * The same.
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
        known?.ready.find(({ uid }) => uid === descriptor.uid) ??
          new ReadyVersion(key.name, version, descriptor, newestOf(this.#self, key)),
      );
    }
    ready.sort((a, b) => Number(b.version) - Number(a.version));
    const entry: TableEntry = { key, revision: read.revision, published, ready };
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
    const entry = this.entry(key);
    if (!entry) throw this.unknown(key.name);
    const found =
      version === undefined ? entry.ready[0] : entry.ready.find((ready) => ready.version === version);
    if (found) return found;
    throw notReady(entry, version);
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

/** A function that finds the version which serves a model's requests now. */
function newestOf(table: WeakRef<ModelTable>, key: ModelKey): () => ReadyVersion {
  return () => {
    const known = table.deref();
    if (known === undefined) throw unavailable('CLOSED', 'the server is closed');
    return known.resolve(key, undefined);
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
