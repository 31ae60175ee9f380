/** Requests to cancel, which the engine gets in one call. */

import type { NativePort } from '../../addon/native/port.js';
import type { Group } from '../requests/group.js';
import type { Submission } from '../requests/submission.js';

/** Words of an entry: the slot, its generation, the first request and how many. */
const wordsOfEach = 4;

/**
 * Collects requests to cancel, and writes them where submissions are written. So nothing may be submitted
 * meanwhile. Neighbours in a group become one entry.
 */
export class CancelList {
  readonly #native: NativePort;
  readonly #submission: Submission;
  #group: Group | undefined;
  #first = 0;
  #count = 0;
  #words = 0;

  constructor(native: NativePort, submission: Submission) {
    this.#native = native;
    this.#submission = submission;
  }

  /** Adds neighbours in a group that was sent. The engine skips those that have ended. */
  add(group: Group, first: number, count = 1): void {
    if (group === this.#group && first === this.#first + this.#count) {
      this.#count += count;
      return;
    }
    this.#write();
    this.#group = group;
    this.#first = first;
    this.#count = count;
  }

  /** Hands the list to the engine. */
  send(): void {
    this.#write();
    if (this.#words > 0) this.#native.cancelMany(this.#words, this.#submission.ownWords);
    this.#words = 0;
  }

  #write(): void {
    const group = this.#group;
    if (group === undefined) return;
    this.#group = undefined;
    const { words } = this.#submission;
    if (this.#words + wordsOfEach > words.length) this.send();
    words[this.#words++] = group.index;
    words[this.#words++] = group.generation;
    words[this.#words++] = this.#first;
    words[this.#words++] = this.#count;
  }
}
