/**
 * What the files of served models hold, as digests: a file that was touched, or copied over itself, is then known for
 * the same. The digests of a model are made once, by polls after its load, while nobody has to wait for its files.
 */

import type { ModelEntry } from '../entries/model-entry.js';
import { givingWay } from '../give-way.js';
import type { FoundModel, ModelSource, StampedEntry } from '../sources/model-source.js';

/** A larger file counts as changed when its stamp changes: to read it takes about as long as to load it. */
const mostBytes = 4 * 2 ** 30;

/** After how much one poll begins no other file, and what it counts for opening one. */
const pollBytes = 2 ** 30;
const fileBytes = 2 ** 16;

/** Stands for a digest for which the budget does not last. */
const later: unique symbol = Symbol('later');

/** The content of a file that had this stamp. */
interface Content {
  readonly stamp: string;
  readonly digest: string;
}

/** A model with the stamp of what is served of it. */
type Served = Pick<ModelEntry, 'stamp'>;

/** What is known of a model's files, by path. */
interface Known {
  /** What was served, as far as it was read. */
  served: Map<string, Content>;
  /** Files with new stamps that were compared. */
  readonly compared: Map<string, Content>;
}

/** What one poll may still read. */
export interface ReadBudget {
  bytes: number;
}

/** See the head of this file. */
export class Contents {
  readonly #known: WeakMap<Served, Known> = new WeakMap();
  /** Models whose files are known as far as they can be, with the stamp that they had. */
  readonly #complete: WeakMap<Served, string> = new WeakMap();
  readonly #signal: AbortSignal;
  /** The end of the last read of each source: one file is read at a time, since loads need the disk, too. */
  readonly #reading: WeakMap<ModelSource, Promise<unknown>> = new WeakMap();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * Whether a file has the content that it had with the earlier stamp. It is read only if that content is known.
   *
   * @returns Undefined if the budget does not last: a later poll has to ask again.
   * @throws {@link TritonError} CANCELLED.
   */
  async isEqual(
    entry: Served,
    place: FoundModel,
    before: StampedEntry,
    now: StampedEntry,
    budget: ReadBudget,
  ): Promise<boolean | undefined> {
    const known = this.#known.get(entry);
    const content = known?.served.get(before.path);
    if (!known || content?.stamp !== before.stamp || !place.source.digest) return false;
    const compared = known.compared.get(now.path);
    if (compared?.stamp === now.stamp) return compared.digest === content.digest;
    const digest = await this.#read(place, now, budget);
    if (digest === later) return undefined;
    if (digest === undefined) return false;
    known.compared.set(now.path, { stamp: now.stamp, digest });
    return digest === content.digest;
  }

  /** The files of a model have these stamps now, and the content that they had before. */
  accept(entry: Served, entries: readonly StampedEntry[]): void {
    const known = this.#known.get(entry);
    for (const { path, stamp } of entries) {
      const content = known?.served.get(path);
      if (content && content.stamp !== stamp) known?.served.set(path, { ...content, stamp });
    }
    known?.compared.clear();
    this.#complete.delete(entry);
  }

  /** A budget for what one poll reads. */
  budget(): ReadBudget {
    return { bytes: pollBytes };
  }

  /**
   * Notes what a model's files hold, as far as the budget lasts; the next poll goes on. Nothing is read of a model whose
   * files are not those of the served versions.
   *
   * @param stamp - The stamp of the served versions' files.
   * @param stampNow - Reads it again. What of a file was read while its own stamp stayed the same is kept.
   * @throws {@link TritonError} CANCELLED; any code of the source.
   */
  async note(
    entry: Served,
    place: FoundModel,
    stamp: string,
    budget: ReadBudget,
    stampNow: () => Promise<string>,
  ): Promise<void> {
    const { source } = place;
    if (this.#complete.get(entry) === stamp || budget.bytes <= 0 || !source.digest) return;
    if ((await stampNow()) !== stamp) return;
    const before = this.#known.get(entry);
    const served = new Map<string, Content>();
    let isComplete = true;
    const step = givingWay();
    for (const one of await entriesAt(place, stamp)) {
      const turn = step();
      if (turn) await turn;
      const { path, size, stamp: own } = one;
      if (size === undefined || size > mostBytes) continue;
      const known = [before?.served, before?.compared].find((all) => all?.get(path)?.stamp === own);
      const digest = known?.get(path)?.digest ?? (await this.#read(place, one, budget));
      if (digest === later) isComplete = false;
      else if (digest !== undefined) served.set(path, { stamp: own, digest });
    }
    const after = await stampNow();
    if (after !== stamp) {
      const now = new Map((await entriesAt(place, after)).map((one) => [one.path, one.stamp]));
      for (const [path, content] of served) if (now.get(path) !== content.stamp) served.delete(path);
      isComplete = false;
    }
    this.#known.set(entry, { served, compared: new Map() });
    if (isComplete && entry.stamp === stamp) this.#complete.set(entry, stamp);
  }

  /** The digest of a file, in its turn. */
  async #read(
    { source, model }: FoundModel,
    entry: StampedEntry,
    budget: ReadBudget,
  ): Promise<string | undefined | typeof later> {
    const read = (this.#reading.get(source) ?? Promise.resolve()).then(async () => {
      if ((entry.size ?? 0) > mostBytes) return undefined;
      if (budget.bytes <= 0) return later;
      budget.bytes -= (entry.size ?? 0) + fileBytes;
      return await source.digest?.(model, entry, this.#signal);
    });
    this.#reading.set(
      source,
      read.catch(() => undefined),
    );
    return await read;
  }
}

/** The entries of a model with this stamp. */
async function entriesAt({ source, model }: FoundModel, stamp: string): Promise<readonly StampedEntry[]> {
  return (await source.entriesOf?.(model, stamp.slice(stamp.indexOf('\0') + 1))) ?? [];
}
