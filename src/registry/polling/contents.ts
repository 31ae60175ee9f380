/**
 * What the files of served models hold, as digests: a file that was touched, or copied over itself, is then known for
 * the same. The digests of a model are made once, by polls after its load, while nobody has to wait for its files.
 */

import type { ModelEntry } from '../entries/model-entry.js';
import type { FoundModel, StampedEntry } from '../sources/model-source.js';

/** A larger file counts as changed when its stamp changes: to read it takes about as long as to load it. */
const mostBytes = 4 * 2 ** 30;

/** How much one poll reads, and what it counts for opening a file. */
const pollBytes = 2 ** 30;
const fileBytes = 2 ** 16;

/** The content of a file that had this stamp. */
interface Content {
  readonly stamp: string;
  readonly digest: string;
}

/** See the head of this file. */
export class Contents {
  readonly #known: WeakMap<ModelEntry, Map<string, Content>> = new WeakMap();
  /** Models whose files are known as far as they can be, with the stamp that they had. */
  readonly #complete: WeakMap<ModelEntry, string> = new WeakMap();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * Whether a file has the content that it had with the earlier stamp. It is read only if that content is known.
   *
   * @throws {@link TritonError} CANCELLED.
   */
  async isEqual(
    entry: ModelEntry,
    { source, model }: FoundModel,
    before: StampedEntry,
    now: StampedEntry,
  ): Promise<boolean> {
    const known = this.#known.get(entry)?.get(before.path);
    if (known?.stamp !== before.stamp || !source.digest) return false;
    const digest = await source.digest(model, now, this.#signal);
    return digest === known.digest;
  }

  /** The files of a model have these stamps now, and the content that they had before. */
  accept(entry: ModelEntry, entries: readonly StampedEntry[]): void {
    const known = this.#known.get(entry);
    for (const { path, stamp } of entries) {
      const content = known?.get(path);
      if (content && content.stamp !== stamp) known?.set(path, { ...content, stamp });
    }
    this.#complete.delete(entry);
  }

  /** A budget for the digests that one poll makes. */
  budget(): { bytes: number } {
    return { bytes: pollBytes };
  }

  /**
   * Notes what a model's files hold, as far as the budget lasts; the next poll goes on.
   *
   * @param stamp - The stamp of the served versions' files.
   * @param stampNow - Reads it again. If it is another one by then, what was read may be newer than what is served.
   * @throws {@link TritonError} CANCELLED; any code of the source.
   */
  async note(
    entry: ModelEntry,
    { source, model }: FoundModel,
    stamp: string,
    budget: { bytes: number },
    stampNow: () => Promise<string>,
  ): Promise<void> {
    if (this.#complete.get(entry) === stamp || budget.bytes <= 0 || !source.digest) return;
    const entries = source.entriesOf?.(model, stamp.slice(stamp.indexOf('\0') + 1)) ?? [];
    const before = this.#known.get(entry);
    const known = new Map<string, Content>();
    let isComplete = true;
    for (const one of entries) {
      const { path, size, stamp: own } = one;
      if (size === undefined || size > mostBytes) continue;
      const content = before?.get(path);
      if (content?.stamp === own) {
        known.set(path, content);
        continue;
      }
      if (budget.bytes <= 0) {
        isComplete = false;
        continue;
      }
      budget.bytes -= size + fileBytes;
      const digest = await source.digest(model, one, this.#signal);
      if (digest !== undefined) known.set(path, { stamp: own, digest });
    }
    // The times of a file that was written meanwhile have changed, and so has the stamp.
    if ((await stampNow()) !== stamp || entry.stamp !== stamp) return;
    this.#known.set(entry, known);
    if (isComplete) this.#complete.set(entry, stamp);
  }
}
