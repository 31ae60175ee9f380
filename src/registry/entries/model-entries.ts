/** The models that a registry knows: those that the program gave, and those that its sources list. */

import type { NativeServer } from '../../addon/native/server.js';
import { TritonError } from '../../errors.js';
import { defaultNamespace, resolveKey, type ModelKey } from '../../model-key.js';
import { ModelKeyMap } from '../../model-key-map.js';
import type { GivenModel } from '../../options.js';
import { printableLine } from '../../printable.js';
import { didYouMean } from '../../suggest.js';
import {
  isSameListing,
  listSources,
  placesIn,
  type ListingStep,
  type Listings,
  type UnlistedSource,
} from '../sources/find-models.js';
import type { ListedModel, ModelSource } from '../sources/model-source.js';
import { isServed, ModelEntry } from './model-entry.js';

/** Whether a repository has a model, or the program gave it. */
function hasPlace({ found, given }: ModelEntry): boolean {
  return found.length > 0 || given !== undefined;
}

/** See the head of this file. Models that the program gives are in the default namespace, as in Triton. */
export class ModelEntries {
  readonly #server: NativeServer;
  readonly #sources: readonly ModelSource[];
  readonly #entries: ModelKeyMap<ModelEntry> = new ModelKeyMap();
  /** How many listings of the sources have begun, and the newest of those that were taken over. */
  #scans = 0;
  #lastScan = 0;
  /** The newest listings that were taken over. */
  #taken: Listings = new Map();

  constructor(server: NativeServer, sources: readonly ModelSource[], given: ReadonlyMap<string, GivenModel>) {
    this.#server = server;
    this.#sources = sources;
    for (const [name, model] of given) {
      const key = { namespace: defaultNamespace, name };
      this.#entries.set(key, new ModelEntry(server, key, [], model));
    }
  }

  /**
   * Lists the models of the sources. New ones become known; they are not loaded.
   *
   * @throws {@link TritonError} NOT_FOUND, INVALID_ARG or CANCELLED for a source that cannot be listed.
   */
  async scan(signal: AbortSignal): Promise<void> {
    const scan = ++this.#scans;
    this.#take(scan, await listSources(this.#sources, signal));
  }

  /**
   * Lists the models of the sources. Those of a source that cannot be listed stay as they are.
   *
   * @param during - Lists a source, and tells of it.
   * @returns The sources that could not be listed, and why.
   * @throws {@link TritonError} CANCELLED.
   */
  async scanListable(signal: AbortSignal, during: ListingStep): Promise<readonly UnlistedSource[]> {
    const scan = ++this.#scans;
    const unlisted: UnlistedSource[] = [];
    const failed = (source: ModelSource, error: TritonError): readonly ListedModel[] => {
      if (signal.aborted || error.code === 'CANCELLED') throw error;
      unlisted.push({ source, error });
      return this.#taken.get(source) ?? [];
    };
    const listings = await listSources(this.#sources, signal, failed, during);
    // Most polls find what the last one has found. To take a listing of many models over holds the event loop.
    if (!isSameListing(listings, this.#taken)) this.#take(scan, listings);
    return unlisted;
  }

  /** Takes listings over. */
  #take(scan: number, listings: Listings): void {
    // A source that is slow may answer after one that was asked later. Models that this one saw would be forgotten.
    if (scan < this.#lastScan) return;
    this.#lastScan = scan;
    this.#taken = listings;
    const found = placesIn(listings);
    for (const { key, places } of found.values()) {
      const entry = this.#entries.get(key);
      if (entry) entry.found = places;
      else this.#entries.set(key, new ModelEntry(this.#server, key, places));
    }
    for (const entry of [...this.#entries.values()]) {
      if (found.get(entry.key)) continue;
      if (entry.found.length > 0) entry.left = entry.found;
      entry.found = [];
      // A model that left the repository without ever being loaded is forgotten.
      if (!entry.hasVersions) this.#forget(entry);
    }
    for (const entry of [...this.#entries.values()]) if (!hasPlace(entry)) this.forgetGone(entry.name);
  }

  /**
   * Forgets the models of a name that are in no repository and not served, if another namespace has the name: nobody
   * means these any more, and they would make the name ambiguous.
   */
  forgetGone(name: string): void {
    const models = this.named(name);
    if (models.length < 2 || !models.some(hasPlace)) return;
    for (const entry of models) if (!hasPlace(entry) && !isServed(entry)) this.#forget(entry);
  }

  /** Forgets a model that left its repository and was unloaded, or never served: Triton lists what is there. */
  forgetRemoved(entry: ModelEntry): void {
    if (!hasPlace(entry) && !entry.isGiven && !isServed(entry) && this.#entries.get(entry.key) === entry)
      this.#forget(entry);
  }

  /** Forgets a model, unless the program gave it, or a load under way may still serve it: then a later listing does. */
  #forget(entry: ModelEntry): void {
    if (entry.given || entry.isBusy) return;
    this.#server.withdraw(entry.key);
    this.#entries.delete(entry.key);
  }

  /** The models of this name, one for each namespace that has it. Loads and unloads are for all of them. */
  named(name: string): ModelEntry[] {
    return this.#entries.valuesOf(name);
  }

  /**
   * The one model that a name in a model's configuration means; undefined if there is none.
   *
   * @param own - Of an ensemble: its namespace, where its steps are looked for first.
   * @throws {@link TritonError} INVALID_ARG if several other namespaces have it.
   */
  resolve(name: string, own?: string): ModelEntry | undefined {
    const key = resolveKey(name, this.#entries.namespacesOf(name), own);
    return key && this.#entries.get(key);
  }

  /** The model of this key. It becomes known if it was not: a load brings its files. */
  ensure(key: ModelKey): ModelEntry {
    const known = this.#entries.get(key);
    if (known) return known;
    const entry = new ModelEntry(this.#server, key, []);
    this.#entries.set(key, entry);
    return entry;
  }

  /** All known models. */
  values(): Iterable<ModelEntry> {
    return this.#entries.values();
  }

  /** Names of the known models, each once, sorted. */
  names(): string[] {
    return [...this.#entries.names()].sort();
  }

  /** The error for a name that is not known. */
  unknown(name: string): TritonError {
    return new TritonError(
      'NOT_FOUND',
      `model '${printableLine(name)}' is in no repository${didYouMean(name, this.#entries.names())}: looked in ` +
        (this.#sources.map(({ place }) => place).join(', ') || 'the models given, as there is none'),
      { model: name },
    );
  }
}
