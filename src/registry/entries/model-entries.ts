/** The models that a registry knows: those that the program gave, and those that its sources list. */

import type { NativeServer } from '../../addon/native/server.js';
import { TritonError } from '../../errors.js';
import type { GivenModel } from '../../options.js';
import { didYouMean } from '../../suggest.js';
import { findModels } from '../sources/find-models.js';
import type { ModelSource } from '../sources/model-source.js';
import { ModelEntry } from './model-entry.js';

/** See the head of this file. */
export class ModelEntries {
  readonly #server: NativeServer;
  readonly #sources: readonly ModelSource[];
  readonly #entries: Map<string, ModelEntry> = new Map();
  /** How many listings of the sources have begun, and the newest of those that were taken over. */
  #scans = 0;
  #lastScan = 0;

  constructor(server: NativeServer, sources: readonly ModelSource[], given: ReadonlyMap<string, GivenModel>) {
    this.#server = server;
    this.#sources = sources;
    for (const [name, model] of given) this.#entries.set(name, new ModelEntry(server, name, [], model));
  }

  /**
   * Lists the models of the sources. New ones become known; they are not loaded.
   *
   * @throws {@link TritonError} NOT_FOUND, INVALID_ARG or CANCELLED for a source that cannot be listed.
   */
  async scan(signal: AbortSignal): Promise<void> {
    const scan = ++this.#scans;
    const found = await findModels(this.#sources, signal);
    // A source that is slow may answer after one that was asked later. Models that this one saw would be forgotten.
    if (scan < this.#lastScan) return;
    this.#lastScan = scan;
    for (const [name, places] of found) {
      const entry = this.#entries.get(name);
      if (entry) entry.found = places;
      else this.#entries.set(name, new ModelEntry(this.#server, name, places));
    }
    for (const [name, entry] of this.#entries) {
      if (found.has(name)) continue;
      entry.found = [];
      // A model that left the repository without ever being loaded is forgotten.
      if (!entry.hasVersions && !entry.given) {
        this.#server.withdraw(name);
        this.#entries.delete(name);
      }
    }
  }

  /** The model of this name; undefined if it is not known. */
  get(name: string): ModelEntry | undefined {
    return this.#entries.get(name);
  }

  /** The model of this name. It becomes known if it was not: a load brings its files. */
  ensure(name: string): ModelEntry {
    const known = this.#entries.get(name);
    if (known) return known;
    const entry = new ModelEntry(this.#server, name, []);
    this.#entries.set(name, entry);
    return entry;
  }

  /** All known models. */
  values(): MapIterator<ModelEntry> {
    return this.#entries.values();
  }

  /** Names of the known models, sorted. */
  names(): string[] {
    return [...this.#entries.keys()].sort();
  }

  /** The error for a name that is not known. */
  unknown(name: string): TritonError {
    return new TritonError(
      'NOT_FOUND',
      `model '${name}' is in no repository${didYouMean(name, this.#entries.keys())}: looked in ` +
        (this.#sources.map(({ place }) => place).join(', ') || 'the models given, as there is none'),
      { model: name },
    );
  }
}
