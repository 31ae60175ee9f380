/** Text in the cells of a terminal: how many it takes, and text cut to a number of them. */

import { printableLine } from '../../printable.js';

/** Characters that take no cell: marks, joiners, variation selectors. */
const none = /[\p{M}\p{Cf}]/u;

/** Characters that take two cells: East Asian ones, and emoji. */
const two =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

function cellsOfCharacter(character: string): number {
  if (character >= ' ' && character <= '~') return 1;
  if (none.test(character)) return 0;
  return two.test(character) ? 2 : 1;
}

/** How many cells a text takes. */
export function cellsOf(text: string): number {
  let sum = 0;
  for (const character of text) sum += cellsOfCharacter(character);
  return sum;
}

/** Cuts a text to a number of cells; an ellipsis stands for what is missing. */
export function cut(text: string, most: number): string {
  if (cellsOf(text) <= most) return text;
  if (most <= 0) return '';
  let result = '';
  let used = 1;
  for (const character of text) {
    used += cellsOfCharacter(character);
    if (used > most) break;
    result += character;
  }
  return `${result}…`;
}

/** Cuts a text to its last cells; an ellipsis stands for what is missing. */
export function ending(text: string, most: number): string {
  if (cellsOf(text) <= most) return text;
  if (most <= 0) return '';
  let result = '';
  let used = 1;
  for (const character of Array.from(text).reverse()) {
    used += cellsOfCharacter(character);
    if (used > most) break;
    result = character + result;
  }
  return `…${result}`;
}

/** Cuts or fills a text to exactly a number of cells. */
export function fitted(text: string, cells: number, side: 'left' | 'right'): string {
  const shown = cut(text, cells);
  const rest = ' '.repeat(Math.max(0, cells - cellsOf(shown)));
  return side === 'left' ? `${shown}${rest}` : `${rest}${shown}`;
}

/** Text from outside, in one line without anything that a terminal acts on. */
export function safe(text: string): string {
  // A half of a pair is written as a replacement character, which takes a cell.
  return printableLine(text).replaceAll(/\p{Cs}/gu, '\ufffd');
}
