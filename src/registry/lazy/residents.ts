/** The lazy models that are loaded: what each takes, when it was used, and which one is unloaded first. */

import type { NativeServer } from '../../addon/native/server.js';
import type { PublishedModel } from '../entries/published.js';
import { openUids, type ModelEntry } from '../entries/model-entry.js';
import type { Size } from './memory.js';

/** How long a model that nobody has used yet stays: its first requests are on their way. In milliseconds. */
const graceMs = 1000;

/** A loaded lazy model. */
interface Resident {
  readonly uids: readonly number[];
  /** Whether its sequences keep state between their requests. */
  readonly hasSequences: boolean;
  readonly isPinned: boolean;
  /** By `Date.now()`, as the engine counts. */
  readonly loadedMs: number;
  /** By the clock that does not jump. */
  readonly loadedAt: number;
  /** The last use that is known. There may be later ones. */
  lastUseMs: number;
}

function hasSequencesOf({ versions }: PublishedModel): boolean {
  return versions.some(({ descriptor }) => descriptor?.config.sequence_batching);
}

/** See the head of this file. */
export class Residents {
  readonly #server: NativeServer;
  readonly #isNeeded: (entry: ModelEntry) => boolean;
  readonly #partsOf: (entry: ModelEntry) => readonly ModelEntry[];
  readonly #residents: Map<ModelEntry, Resident> = new Map();
  readonly #sizes: WeakMap<ModelEntry, Size> = new WeakMap();

  /**
   * @param isNeeded - Whether another loaded model, or a load, needs a model.
   * @param partsOf - The models that are unloaded with one, because it alone needs them.
   */
  constructor(
    server: NativeServer,
    isNeeded: (entry: ModelEntry) => boolean,
    partsOf: (entry: ModelEntry) => readonly ModelEntry[] = () => [],
  ) {
    this.#server = server;
    this.#partsOf = partsOf;
    this.#isNeeded = isNeeded;
  }

  /** How many are loaded. */
  get count(): number {
    return this.#residents.size;
  }

  /** What they take together, by the estimates. */
  get bytes(): number {
    let sum = 0;
    for (const entry of this.#residents.keys()) sum += this.sizeOf(entry)?.bytes ?? 0;
    return sum;
  }

  /** A model is loaded, or was loaded again. */
  add(entry: ModelEntry, isPinned: boolean): void {
    const published = entry.published();
    const now = Date.now();
    this.#residents.set(entry, {
      uids: openUids(published),
      hasSequences: hasSequencesOf(published),
      isPinned,
      loadedMs: now,
      loadedAt: performance.now(),
      lastUseMs: now,
    });
  }

  remove(entry: ModelEntry): void {
    this.#residents.delete(entry);
  }

  /** The last use of a loaded model, or its load; undefined: it is not loaded. */
  lastUseMs(entry: ModelEntry): number | undefined {
    const resident = this.#residents.get(entry);
    return resident && this.#lastUse(resident);
  }

  isPinned(entry: ModelEntry): boolean {
    return this.#residents.get(entry)?.isPinned === true;
  }

  has(entry: ModelEntry): boolean {
    return this.#residents.has(entry);
  }

  /** What the processes of models take together, besides this one. */
  get bytesBesides(): number {
    let sum = 0;
    for (const entry of this.#residents.keys()) sum += this.sizeOf(entry)?.besides ?? 0;
    return sum;
  }

  /** Whether a loaded model was used since its load. */
  wasUsed(entry: ModelEntry): boolean {
    return this.#wasUsed(this.#residents.get(entry)?.uids ?? []);
  }

  /** The estimate, which is kept while the model is not loaded. Undefined: it was never loaded. */
  sizeOf(entry: ModelEntry): Size | undefined {
    return this.#sizes.get(entry);
  }

  setSize(entry: ModelEntry, size: Size): void {
    this.#sizes.set(entry, size);
  }

  /** The average of what was measured; undefined: nothing was. */
  get averageBytes(): number | undefined {
    let [sum, count] = [0, 0];
    for (const entry of this.#residents.keys()) {
      const size = this.#sizes.get(entry);
      if (size?.isMeasured !== true) continue;
      sum += size.bytes;
      count++;
    }
    return count === 0 ? undefined : sum / count;
  }

  /** The idle model that was used the longest time ago; undefined: none may be unloaded now. */
  leastRecentlyUsed(except: ReadonlySet<ModelEntry>): ModelEntry | undefined {
    const looked = new Set<ModelEntry>();
    for (;;) {
      let [oldest, at]: [ModelEntry | undefined, Resident | undefined] = [undefined, undefined];
      for (const [entry, resident] of this.#residents) {
        if (resident.isPinned || looked.has(entry) || except.has(entry)) continue;
        if (at === undefined || resident.lastUseMs < at.lastUseMs) [oldest, at] = [entry, resident];
      }
      if (oldest === undefined || at === undefined) return undefined;
      const last = this.#lastUse(at);
      // It was used since it was looked at: others may have been used longer ago.
      if (last > at.lastUseMs) at.lastUseMs = last;
      else if (this.isIdle(oldest)) return oldest;
      else looked.add(oldest);
    }
  }

  /** Whether a loaded model will be idle some time: it is not pinned, and no other model needs it. */
  mayBecomeIdle(except: ReadonlySet<ModelEntry>): boolean {
    for (const [entry, { isPinned }] of this.#residents)
      if (!isPinned && !except.has(entry) && !this.#isNeeded(entry)) return true;
    return false;
  }

  #lastUse({ uids, loadedMs }: Resident): number {
    return Math.max(loadedMs, ...uids.map((uid) => this.#server.statistics(uid)?.lastInferenceMs ?? 0));
  }

  /**
   * Whether a model may be unloaded: no request waits or runs, no sequence is live, and no other model needs it. The
   * same of the models that are unloaded with it.
   *
   * @param isTurn - Whether its unload asks, which has its turn. Otherwise no load or unload of it may be under way.
   */
  isIdle(entry: ModelEntry, isTurn = false): boolean {
    const resident = this.#residents.get(entry);
    if (resident === undefined || (entry.isBusy && !isTurn) || this.#isNeeded(entry)) return false;
    const { uids, hasSequences, loadedAt } = resident;
    if (performance.now() - loadedAt < graceMs && !this.#wasUsed(uids)) return false;
    return (
      uids.every((uid) => this.#isQuiet(uid, hasSequences)) &&
      this.#partsOf(entry).every((part) => {
        const published = part.published();
        const sequences = hasSequencesOf(published);
        return openUids(published).every((uid) => this.#isQuiet(uid, sequences));
      })
    );
  }

  #isQuiet(uid: number, hasSequences: boolean): boolean {
    if (!this.#server.isIdle(uid)) return false;
    return !hasSequences || (this.#server.metrics(uid, [])?.sequences?.live ?? 0) === 0;
  }

  #wasUsed(uids: readonly number[]): boolean {
    return uids.some((uid) => {
      const counts = this.#server.statistics(uid);
      return counts !== undefined && counts.success.count + counts.fail.count + counts.refused > 0;
    });
  }
}
