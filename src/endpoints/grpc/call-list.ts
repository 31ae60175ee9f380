/**
 * The calls that have not ended. A Set would do, but one whose entries come and go is copied again and again; V8 links the copies,
 * and what was in those that have grown old is garbage that only a full collection finds. It was most of a call's cost in memory.
 */

/** What is in a list. */
export interface Listed {
  /** Where it is; the list's own. */
  place: number;
}

/** See the head of this file. Its order means nothing. */
export class CallList<T extends Listed> {
  readonly #all: T[] = [];

  add(one: T): void {
    one.place = this.#all.push(one) - 1;
  }

  /** Takes one out that is in it. */
  delete(one: T): void {
    const last = this.#all.pop();
    if (last === undefined || last === one) return;
    this.#all[one.place] = last;
    last.place = one.place;
  }

  /** All that are in it now. */
  list(): readonly T[] {
    return this.#all.slice();
  }
}
