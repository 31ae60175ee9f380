/** A list of requests to cancel, which is passed to the engine in one call. */

import type { NativePort } from '../../addon/native/port.js';
import type { Group } from '../requests/group.js';
import type { Submission } from '../requests/submission.js';

/** Words of an entry: the slot, its generation, the first request and the number of requests. */
const wordsOfEach = 4;

/**
 * Collects requests to cancel. It writes them to the submission area, so no submission may be written
 * meanwhile. Adjacent requests of a group become one entry.
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

  /** Adds adjacent requests of a group that was sent. The engine skips requests that have ended. */
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

  /** Passes the list to the engine. */
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
