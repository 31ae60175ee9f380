/**
 * The calls that have not ended. A Set costs too much memory here: V8 copies its table again and again as entries
 * come and go, and links the copies. Entries of copies in the old generation stay until a full collection.
 */

/** An entry of a list. */
export interface Listed {
  /** The entry's index in the list. Only the list writes it. */
  place: number;
}

/** See the head of this file. The list has no defined order. */
export class CallList<T extends Listed> {
  readonly #all: T[] = [];

  add(one: T): void {
    one.place = this.#all.push(one) - 1;
  }

  /** Removes an entry, which must be in the list. */
  delete(one: T): void {
    const last = this.#all.pop();
    if (last === undefined || last === one) return;
    this.#all[one.place] = last;
    last.place = one.place;
  }

  /** A copy of the current entries. */
  list(): readonly T[] {
    return this.#all.slice();
  }
}
