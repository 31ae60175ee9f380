/** The models that a registry knows: those that the program gave, and those that its sources list. */

import type { NativeServer } from '../../addon/native/server.js';
import { TritonError } from '../../errors.js';
import { defaultNamespace, resolveKey, type ModelKey } from '../../model-key.js';
import { ModelKeyMap } from '../../model-key-map.js';
import type { GivenModel } from '../../options.js';
import { printableLine } from '../../printable.js';
import { didYouMean } from '../../suggest.js';
import { endsWithin } from '../../time-limit.js';
import { timed } from '../../metrics/load-times.js';
import {
  isSameListing,
  listSource,
  listSources,
  placesIn,
  type ListingStep,
  type Listings,
  type UnlistedSource,
} from '../sources/find-models.js';
import type { ListedModel, ModelSource } from '../sources/model-source.js';
import { isServed, ModelEntry } from './model-entry.js';

/** How long a load waits for repositories that do not answer, once one of them has the model's name, in milliseconds. */
const graceMs = 1000;

/** What a source has listed. */
interface Taken {
  /** The number of the listing. */
  readonly scan: number;
  readonly models: readonly ListedModel[];
}

/** A listing that has not ended. It does not reject. */
interface Listing {
  readonly end: Promise<void>;
  /** The one after it. */
  next: Promise<readonly ListedModel[]> | undefined;
}

/** Whether a repository has a model, or the program gave it. */
function hasPlace({ found, given }: ModelEntry): boolean {
  return found.length > 0 || given !== undefined;
}

/** See the head of this file. Models that the program gives are in the default namespace, as in Triton. */
export class ModelEntries {
  readonly #server: NativeServer;
  #sources: readonly ModelSource[];
  readonly #entries: ModelKeyMap<ModelEntry> = new ModelKeyMap();
  /** How many listings of the sources have begun. */
  #scans = 0;
  /** The numbers of listings by polls: one may be taken over by a later poll. */
  readonly #begun: WeakMap<readonly ListedModel[], number> = new WeakMap();
  /** The listings that have not ended. */
  readonly #listing: Map<ModelSource, Listing> = new Map();
  /** The newest listings that were taken over. */
  readonly #taken: Map<ModelSource, Taken> = new Map();

  /** Is told of names that mean other models now, because models have come to repositories, or left them. */
  onMoved: ((names: ReadonlySet<string>) => void) | undefined;

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
    const listing: ListingStep = (source, list) => this.#list(source, list);
    this.#take(scan, await listSources(this.#sources, signal, undefined, listing));
  }

  /**
   * Lists the models of the sources for the load of a name. Those of a source that cannot be listed, or does not answer
   * though another one has the name, stay as they are.
   *
   * @param isGiven - Whether the program gives the model itself.
   * @throws {@link TritonError} The error of a source that cannot be listed if no other has the name; CANCELLED.
   */
  async scanFor(name: string, isGiven: boolean, signal: AbortSignal): Promise<void> {
    const scan = ++this.#scans;
    const listed = new Map<ModelSource, readonly ListedModel[]>();
    const errors: TritonError[] = [];
    let isKnown = isGiven || this.named(name).some(({ given }) => given !== undefined);
    let known = (): void => undefined;
    const anyKnown = new Promise<void>((resolve) => {
      known = resolve;
      if (isKnown) resolve();
    });
    const all = Promise.all(
      this.#sources.map(async (source) => {
        try {
          const models = await this.#list(source, () => listSource(source, signal));
          listed.set(source, models);
          isKnown ||= models.some((model) => model.name === name);
          if (isKnown) known();
        } catch (error) {
          // The listing of a source throws nothing else.
          if (error instanceof TritonError) errors.push(error);
        }
      }),
    );
    await Promise.race([all, anyKnown]);
    await endsWithin(all, graceMs);
    if (signal.aborted) throw errors[0] ?? new TritonError('CANCELLED', 'loading was cancelled');
    this.#take(scan, new Map(listed));
    if (!isKnown && errors[0]) throw errors[0];
  }

  /**
   * Lists the models of the sources. Those of a source that cannot be listed stay as they are.
   *
   * @param during - Lists a source, and tells of it. It may return what the call of an earlier poll has listed.
   * @returns The sources that could not be listed, and why.
   * @throws {@link TritonError} CANCELLED.
   */
  async scanListable(signal: AbortSignal, during: ListingStep): Promise<readonly UnlistedSource[]> {
    const scan = ++this.#scans;
    const unlisted: UnlistedSource[] = [];
    const failed = (source: ModelSource, error: TritonError): readonly ListedModel[] => {
      if (signal.aborted || error.code === 'CANCELLED') throw error;
      unlisted.push({ source, error });
      const { scan: before = 0, models = [] } = this.#taken.get(source) ?? {};
      this.#begun.set(models, before);
      return models;
    };
    const listings = await listSources(this.#sources, signal, failed, (source, list) =>
      during(source, async () => {
        const models = await this.#list(source, list);
        this.#begun.set(models, scan);
        return models;
      }),
    );
    // Most polls find what the last one has found. To take a listing of many models over holds the event loop.
    if (!isSameListing(listings, this.#listings()))
      this.#take((models) => this.#begun.get(models) ?? scan, listings);
    return unlisted;
  }

  /**
   * Adds a source. Its models become known. Until it has been listed, nobody else waits for it.
   *
   * @returns What it has.
   * @throws {@link TritonError} NOT_FOUND, INVALID_ARG, UNAVAILABLE or CANCELLED if it cannot be listed; it is not added then.
   */
  async add(source: ModelSource, signal: AbortSignal): Promise<readonly ListedModel[]> {
    const scan = ++this.#scans;
    const models = await timed(this.#server, 'listing', () => listSource(source, signal));
    signal.throwIfAborted();
    this.#sources = [...this.#sources, source];
    this.#take(scan, new Map([[source, models]]));
    return models;
  }

  /** Forgets a source, and its models that are not served. */
  remove(source: ModelSource): void {
    this.#sources = this.#sources.filter((one) => one !== source);
    this.#taken.delete(source);
    const isOther = (place: { readonly source: ModelSource }): boolean => place.source !== source;
    for (const entry of this.#entries.values()) {
      entry.found = entry.found.filter(isOther);
      // Polls must not take a model for one that has left its repository, and unload it.
      entry.left = entry.left.filter(isOther);
      // Nor must they put another repository's model of the name in its place: nobody has asked for that one.
      if (entry.servedFrom === source) entry.isTakenAway = true;
    }
    this.#take(this.#scans, new Map());
  }

  /** Whether a source was not removed. */
  hasSource(source: ModelSource): boolean {
    return this.#sources.includes(source);
  }

  /** The newest listings, in the order of the sources. */
  #listings(): Listings {
    return new Map(this.#sources.map((source) => [source, this.#taken.get(source)?.models ?? []]));
  }

  /**
   * Lists a source. A listing may hang, and has a thread of the process: another one begins after it, and those that ask
   * meanwhile share that one. What they get was listed after they had asked.
   */
  #list(source: ModelSource, list: () => Promise<readonly ListedModel[]>): Promise<readonly ListedModel[]> {
    const running = this.#listing.get(source);
    if (!running) return this.#listNow(source, list);
    running.next ??= running.end.then(() => this.#list(source, list));
    return running.next;
  }

  #listNow(
    source: ModelSource,
    list: () => Promise<readonly ListedModel[]>,
  ): Promise<readonly ListedModel[]> {
    const models = timed(this.#server, 'listing', list);
    const ended = (): void => {
      if (this.#listing.get(source) === own) this.#listing.delete(source);
    };
    // The next one, if there is one, begins when this has been forgotten.
    const own: Listing = { end: models.then(ended, ended), next: undefined };
    this.#listing.set(source, own);
    return models;
  }

  /**
   * Takes listings over.
   *
   * @param scanOf - The number of all listings, or of each.
   */
  #take(scanOf: number | ((models: readonly ListedModel[]) => number), listed: Listings): void {
    for (const [source, models] of listed) {
      const scan = typeof scanOf === 'number' ? scanOf : scanOf(models);
      // A source may have been removed while it was listed, and a slow listing may end after a later one.
      if (!this.#sources.includes(source) || (this.#taken.get(source)?.scan ?? 0) > scan) continue;
      this.#taken.set(source, { scan, models });
    }
    const found = placesIn(this.#listings());
    const moved = new Set<string>();
    for (const { key, places } of found.values()) {
      const entry = this.#entries.get(key);
      if (!entry || entry.found.length === 0) moved.add(key.name);
      if (entry) entry.list(places);
      else this.#entries.set(key, new ModelEntry(this.#server, key, places));
    }
    for (const entry of [...this.#entries.values()]) {
      if (found.get(entry.key)) continue;
      if (entry.found.length > 0) entry.left = entry.found;
      entry.found = [];
      moved.add(entry.name);
      // A model that left the repository is forgotten unless it is served; one of the program's files was never there.
      if (!entry.hasVersions || (entry.wasListed && !isServed(entry))) this.#forget(entry);
    }
    for (const entry of [...this.#entries.values()]) if (!hasPlace(entry)) this.forgetGone(entry.name);
    if (moved.size > 0) this.onMoved?.(moved);
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
    if (entry.wasListed && !hasPlace(entry) && !isServed(entry) && this.#entries.get(entry.key) === entry)
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
   * The same without those that have left their repository and are not served, if others have the name. Their unload may be
   * under way.
   */
  present(name: string): ModelEntry[] {
    const all = this.named(name);
    if (all.length < 2) return all;
    const present = all.filter((entry) => hasPlace(entry) || isServed(entry));
    return present.length > 0 ? present : all;
  }

  /**
   * The one model that a name in a model's configuration means; undefined if there is none.
   *
   * @param own - Of an ensemble: its namespace, where its steps are looked for first.
   * @throws {@link TritonError} INVALID_ARG if several other namespaces have it.
   */
  resolve(name: string, own?: string): ModelEntry | undefined {
    const namespaces = this.present(name).map(({ key: { namespace } }) => namespace);
    const key = resolveKey(name, namespaces, own);
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

  /** The model of this key; undefined if it is not known. */
  get(key: ModelKey): ModelEntry | undefined {
    return this.#entries.get(key);
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
