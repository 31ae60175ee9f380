/** Writes the sequences of a group's requests; `native/engine/port/port_layout.h` has the layout. */

import { sequenceEnd, sequenceStart } from '../../addon/layout.js';
import type { SequenceMark } from '../types.js';

/** The most bytes of an id that is a text, as in Triton; also in `native/engine/request/sequence_mark.h`. */
export const mostIdBytes = 128;
/** Words that the sequence of a request takes at most: those of the longest text, and one for flags. */
export const mostMarkWords: number = 1 + mostIdBytes / 4;
/** Words of one whose id is a number. */
const numberWords = 3;

/** A number of 64 bits, and its two words in the machine's order. */
const wide = new BigUint64Array(1);
const halves = new Int32Array(wide.buffer);

/** How many words a sequence takes. */
export function markWords({ id }: SequenceMark): number {
  return typeof id === 'string' ? 1 + Math.ceil(Buffer.byteLength(id) / 4) : numberWords;
}

/**
 * Writes a sequence. Returns the position behind it.
 *
 * @param bytes - The bytes of `words`.
 */
export function writeMark(
  words: Int32Array,
  bytes: Buffer,
  position: number,
  { id, start, end }: SequenceMark,
): number {
  const flags = (start ? sequenceStart : 0) | (end ? sequenceEnd : 0);
  if (typeof id !== 'string') {
    wide[0] = id;
    words[position] = flags;
    words[position + 1] = halves[0] ?? 0;
    words[position + 2] = halves[1] ?? 0;
    return position + numberWords;
  }
  const size = bytes.write(id, 4 * (position + 1), mostIdBytes);
  words[position] = flags | (size << 8);
  return position + 1 + Math.ceil(size / 4);
}
