/** The brackets and commas of an array in JSON, flat or nested, that is read without the parser. */

/** The limits of depth and of arrays here. Text beyond them is left to the parser, which has its own limits. */
const mostDepth = 32;
const mostArrays = 4096;

/** States: the tokens that may come next. */
const value = 0;
const valueOrEnd = 1;
const commaOrEnd = 2;

/** What {@link Nesting.take} found: space or a token of the nesting. */
export const inside = 0;
/** The first byte of an element. The byte after the element is the next to take. */
export const element = 1;
/** The end of the array. */
export const ended = 2;
/** Text that the parser has to read. */
export const unread = 3;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Takes the bytes of an array one by one, but for its elements, and says what each is. */
export class Nesting {
  #next = value;
  #depth = 0;
  #arrays = 0;

  /** @returns {@link inside}, {@link element}, {@link ended} or {@link unread}. */
  take(byte: number): number {
    if (isSpace(byte)) return inside;
    if (byte === 0x5d && this.#next !== value && this.#depth > 0) {
      this.#next = commaOrEnd;
      return --this.#depth === 0 ? ended : inside;
    }
    if (this.#next === commaOrEnd) {
      if (byte !== 0x2c) return unread;
      this.#next = value;
      return inside;
    }
    if (byte === 0x5b) {
      this.#next = valueOrEnd;
      return ++this.#depth > mostDepth || ++this.#arrays > mostArrays ? unread : inside;
    }
    this.#next = commaOrEnd;
    return this.#depth === 0 ? unread : element;
  }
}
