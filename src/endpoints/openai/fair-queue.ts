/** A queue that models share: the next entry is one of the model that has used the least time. */

/** The entries of a model. */
interface Flow<T> {
  readonly entries: T[];
  /** The time that it has used, in milliseconds. A model that comes back begins where the others are. */
  usedMs: number;
}

/** See the head of this file. */
export class FairQueue<T> {
  readonly #most: number;
  /** The models that wait, or have used more than the others. */
  readonly #flows: Map<string, Flow<T>> = new Map();
  /** What the model of the last entry had used before it. */
  #floorMs = 0;
  #length = 0;

  /** @param most - How many entries may wait. */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Adds an entry of a model.
   *
   * @returns The entry for which there is no room: this one, or the newest of the model that has the most. Undefined: there is room.
   */
  push(model: string, entry: T): T | undefined {
    const flow = this.#flows.get(model) ?? { entries: [], usedMs: 0 };
    let removed: T | undefined;
    if (this.#length >= this.#most) {
      const longest = this.#longest();
      if (longest.entries.length <= flow.entries.length + 1) return entry;
      removed = longest.entries.pop();
    } else this.#length++;
    if (flow.entries.length === 0) flow.usedMs = Math.max(flow.usedMs, this.#floorMs);
    flow.entries.push(entry);
    this.#flows.set(model, flow);
    return removed;
  }

  /** Removes the next entry; undefined if there is none. */
  shift(): { readonly model: string; readonly entry: T } | undefined {
    let least: readonly [string, Flow<T>] | undefined;
    for (const one of this.#flows)
      if (one[1].entries.length > 0 && (least === undefined || one[1].usedMs < least[1].usedMs)) least = one;
    if (least === undefined) return undefined;
    const [model, flow] = least;
    const [entry] = flow.entries.splice(0, 1);
    // A flow that was chosen has entries.
    if (entry === undefined) return undefined;
    this.#length--;
    this.#floorMs = flow.usedMs;
    for (const [name, { entries, usedMs }] of this.#flows)
      if (name !== model && entries.length === 0 && usedMs <= this.#floorMs) this.#flows.delete(name);
    return { model, entry };
  }

  /** Counts time that an entry of a model has taken. */
  used(model: string, ms: number): void {
    const flow = this.#flows.get(model);
    if (flow !== undefined) flow.usedMs += ms;
  }

  #longest(): Flow<T> {
    return [...this.#flows.values()].reduce((one, other) =>
      other.entries.length > one.entries.length ? other : one,
    );
  }
}
