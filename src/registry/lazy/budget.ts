/**
 * The memory budget of lazy models. Before a load that would not fit, the models that were idle for the longest time
 * are unloaded. Each load measures what its model takes. How much the process has grown corrects the sum of these estimates.
 * It is held below the budget, too, but may be a little larger, because allocators keep some memory.
 */

import type { NativeServer } from '../../addon/native/server.js';
import type { Log } from '../../logger.js';
import { setTimeout } from '../../timers.js';
import type { ModelEntry } from '../entries/model-entry.js';
import type { LazyCounts } from './lazy-counts.js';
import {
  guessedSize,
  memoryOutsideHeap,
  residentBytes,
  scaleOf,
  sizeAfter,
  sizeNow,
  type Size,
} from './memory.js';
import { Residents } from './residents.js';
import { toldOf } from './told-memory.js';

/** How much the process may have grown, in budgets, before more is unloaded than the sum asks for. */
const mostGrowth = 1.1;
/** How long a load waits for a model to become idle, and how often it looks. In milliseconds. */
const mostIdleWaitMs = 1000;
const idleLookMs = 5;
/** The first guess of what a model takes, where nothing was measured yet: an ordinary small model. */
const firstGuessBytes = 2 ** 20;
/** The part of the budget that may be unloaded beside the load that takes its place. */
const smallPart = 1 / 16;
/** How many loaded models are asked again before each load what they take. */
const askedAtOnce = 4;
/**
 * From this size on, what a load or an unload has freed is returned to the system at once: loads of large models need as much again for a
 * moment, and allocators would keep it. For small models that would take longer than their loads.
 */
const largeBytes = 4 * 2 ** 20;
/** How often memory that unloads left in the allocator is returned to the system, at most. */
const returnMs = 100;

/** What a budget needs. */
export interface BudgetHost {
  readonly server: NativeServer;
  readonly log: Log;
  /** Infinity: there is no limit. */
  readonly bytes: number;
  readonly isNeeded: (entry: ModelEntry) => boolean;
  /** Unloads a model, if it is still idle at that moment. */
  readonly evict: (entry: ModelEntry, isIdle: () => boolean, unloaded: () => void) => Promise<boolean>;
  /** The models that are unloaded with one, because it alone needs them. */
  readonly partsOf: (entry: ModelEntry) => readonly ModelEntry[];
  readonly counts: LazyCounts;
  /** Aborted when the server closes. */
  readonly signal: AbortSignal;
}

/** How much the process has grown; undefined if that cannot be read. */
function grownSince(before: number | undefined): number | undefined {
  const now = memoryOutsideHeap();
  return before === undefined || now === undefined ? undefined : now - before;
}

/** See the head of this file. */
export class Budget {
  readonly residents: Residents;
  readonly #host: BudgetHost;
  /** The memory of the process when the server had started, or when it could be read first. */
  #base: number | undefined;
  #returned = 0;
  /** What estimates are to be multiplied with. */
  #scale = 1;
  /** The last unloads that nobody has waited for. */
  #unloading: Promise<unknown> = Promise.resolve();
  /** The models that are being loaded. */
  readonly #loading: Set<ModelEntry> = new Set();
  /** The loaded models in the order in which they are asked what they take; and those that had no request yet. */
  readonly #asked: Set<ModelEntry> = new Set();
  readonly #fresh: Set<ModelEntry> = new Set();

  constructor(host: BudgetHost) {
    this.#host = host;
    this.residents = new Residents(host.server, host.isNeeded, host.partsOf);
  }

  get isLimited(): boolean {
    return this.#host.bytes < Infinity;
  }

  start(): void {
    this.#base = residentBytes();
  }

  /**
   * Makes room for a model, and measures its load.
   *
   * @param isUrgent - Whether the load waits for no model to become idle. It runs beside others then, and is not
   *   measured.
   */
  async during(entry: ModelEntry, isUrgent: boolean, load: () => Promise<void>): Promise<void> {
    if (!this.isLimited) {
      await load();
      return;
    }
    this.#loading.add(entry);
    try {
      await this.#makeRoom(entry, isUrgent);
      const size = this.#sizeOf(entry);
      const others = this.residents.averageBytes;
      if (size.isDoubtful) await this.#returnMemory();
      const before = memoryOutsideHeap();
      await load();
      if (size.isDoubtful || size.bytes >= largeBytes || (grownSince(before) ?? 0) >= largeBytes)
        await this.#returnMemory();
      const grown = isUrgent ? undefined : grownSince(before);
      const found = await toldOf(this.#host.server, entry);
      this.residents.setSize(
        entry,
        grown === undefined ? sizeNow(found, size) : sizeAfter(grown, found, size, others),
      );
    } finally {
      this.#loading.delete(entry);
    }
    // It may take more than was known before.
    const excess = this.#excess(0);
    if (excess > 0) this.#unloading = this.#evict(excess, new Set([entry])).done;
  }

  /** A model was loaded without {@link during}: for another one, by the program, or by a poll. Its growth is not measured. */
  loadedBeside(entry: ModelEntry): void {
    if (!this.isLimited) return;
    this.#fresh.add(entry);
    if (this.#loading.has(entry)) return;
    this.residents.setSize(entry, this.#sizeOf(entry));
    void this.#ask(entry).then(() => {
      const excess = this.#excess(0);
      if (excess > 0) this.#unloading = this.#evict(excess, new Set([...this.#loading, entry])).done;
    });
  }

  /** Asks a loaded model what it takes now. It does not reject. */
  async #ask(entry: ModelEntry): Promise<void> {
    const found = await toldOf(this.#host.server, entry);
    if (this.residents.has(entry)) this.residents.setSize(entry, sizeNow(found, this.#sizeOf(entry)));
  }

  /** Asks some models again: those that had their first requests, which may take memory, and others in turn. */
  async #askSome(): Promise<void> {
    const some = new Set<ModelEntry>();
    for (const entry of this.#fresh) {
      if (this.residents.has(entry) && !this.residents.wasUsed(entry)) continue;
      this.#fresh.delete(entry);
      some.add(entry);
    }
    for (const entry of this.#asked) {
      if (some.size >= askedAtOnce) break;
      some.add(entry);
    }
    for (const entry of some) {
      // The next ones come first the next time.
      this.#asked.delete(entry);
      if (this.residents.has(entry)) this.#asked.add(entry);
    }
    await Promise.all([...this.#asked].filter((entry) => some.has(entry)).map((entry) => this.#ask(entry)));
  }

  #sizeOf(entry: ModelEntry): Size {
    return this.residents.sizeOf(entry) ?? guessedSize(this.residents.averageBytes ?? firstGuessBytes);
  }

  /** How many bytes have to be freed for `bytes` more, as estimates count. */
  #excess(bytes: number): number {
    const { bytes: sum } = this.residents;
    return sum + bytes - this.#host.bytes / this.#scale;
  }

  /**
   * The same by the growth of the process. Allocators keep what unloads have freed, so they return it first; then the growth
   * corrects the estimates. What still is there may be other memory than that of models, so it never asks for more than
   * a part of what is loaded.
   */
  async #excessOfGrowth(bytes: number): Promise<number> {
    const { bytes: budget } = this.#host;
    const now = performance.now();
    if (this.#growth() + bytes <= budget || now < this.#returned + returnMs) return 0;
    await this.#returnMemory();
    const growth = this.#growth();
    this.#scale = scaleOf(growth, this.residents.bytes, this.residents.count);
    return Math.min(growth + bytes - budget * mostGrowth, this.residents.bytes / 8);
  }

  async #returnMemory(): Promise<void> {
    this.#returned = performance.now();
    await new Promise<void>((resolve) => {
      this.#host.server.returnMemory(resolve);
    });
  }

  #growth(): number {
    const bytes = residentBytes();
    const base = (this.#base ??= bytes);
    // What cannot be read asks for no unload. The estimates do.
    const grown = bytes === undefined || base === undefined ? 0 : bytes - base;
    return grown + this.residents.bytesBesides;
  }

  async #makeRoom(entry: ModelEntry, isUrgent: boolean): Promise<void> {
    const { counts, signal } = this.#host;
    const end = performance.now() + mostIdleWaitMs;
    await this.#unloading;
    await this.#askSome();
    const { bytes } = this.#sizeOf(entry);
    const ofGrowth = await this.#excessOfGrowth(bytes);
    let excess = Math.max(this.#excess(bytes), ofGrowth);
    // The signal fires while this waits.
    const isClosing = (): boolean => signal.aborted;
    while (excess > 0 && !isClosing()) {
      const { freed, done } = this.#evict(excess, this.#loading);
      if (freed >= excess && freed <= this.#host.bytes * smallPart) {
        // The next load waits for it. Meanwhile a little more than the budget is used.
        this.#unloading = done;
        break;
      }
      await done;
      if (freed >= largeBytes) await this.#returnMemory();
      excess = this.#excess(bytes);
      if (excess <= 0 || isClosing()) break;
      if (!this.residents.mayBecomeIdle(this.#loading)) {
        const others = this.residents.count > 0;
        counts.exceeded(
          entry,
          bytes,
          others ? 'all that is loaded is pinned or needed' : 'it is loaded alone',
        );
        break;
      }
      if (isUrgent || performance.now() >= end) {
        const why = isUrgent ? 'a model waits for it' : `for ${mostIdleWaitMs / 1000} s`;
        counts.exceeded(entry, bytes, `no loaded model is idle (${why})`);
        break;
      }
      await new Promise<void>((resolve) => setTimeout(resolve, idleLookMs));
    }
  }

  /**
   * Unloads idle models until `excess` bytes are free by the estimates, as far as there are any.
   *
   * @returns What they take, and their end. It does not reject.
   */
  #evict(
    excess: number,
    except: ReadonlySet<ModelEntry>,
  ): { readonly freed: number; readonly done: Promise<unknown> } {
    const { evict, counts } = this.#host;
    const { residents } = this;
    const chosen = new Set(except);
    const unloads: Promise<void>[] = [];
    let freed = 0;
    while (freed < excess) {
      const entry = residents.leastRecentlyUsed(chosen);
      if (entry === undefined) break;
      chosen.add(entry);
      freed += this.#sizeOf(entry).bytes;
      const unload = async (): Promise<void> => {
        const isIdle = (): boolean => residents.isIdle(entry, true);
        await evict(entry, isIdle, () => {
          // At once: it may be loaded again while its parts are unloaded.
          residents.remove(entry);
          counts.evicted(entry);
        });
      };
      unloads.push(unload());
    }
    return { freed, done: Promise.allSettled(unloads) };
  }
}
