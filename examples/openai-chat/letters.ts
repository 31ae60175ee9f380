/**
 * A model of letters, learned from the pages of this repository: an n-gram of two orders. It gives the probabilities of
 * the next letter by the letters before it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { graph } from '../../test/support/onnx/graph.js';

/** Letters that the model knows: the printable ones of ASCII, and the end of a line. */
const alphabet: readonly string[] = [
  '\n',
  ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)),
];
const count = alphabet.length;
const numbers: ReadonlyMap<string, number> = new Map(alphabet.map((letter, i) => [letter, i]));
/** How many letters before the next one the two tables look at. */
const nearLetters = 2;
const farLetters = 4;
/** Rows of the table for the longer context, which its hash chooses. Several contexts may share one. */
const farRows = 65_536;
/** The share of the shorter context, which knows every letter. */
const nearShare = 0.05;

/** The letter of a number. */
export function letterOf(number: number): string {
  return alphabet[number] ?? ' ';
}

/** The numbers of a text's letters. Letters that the model does not know count as spaces. */
export function numbersOf(text: string): number[] {
  return Array.from(text, (letter) => numbers.get(letter) ?? 1);
}

/** The rows of both tables for what comes after these letters. */
export function rowsAfter(letters: readonly number[]): { readonly near: number; readonly far: number } {
  const last = letters.slice(-nearLetters);
  const near = last.reduce((row, letter) => row * count + letter, 0);
  let hash = 0;
  for (const letter of letters.slice(-farLetters)) hash = Math.imul(hash + letter + 1, 0x9e3779b1) >>> 0;
  return { near, far: hash >>> 16 };
}

/** The text to learn from: the pages in docs/. */
function pages(): string {
  const folder = new URL('../../../docs/', import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith('.md'));
  return names
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')
    .replace(/[ -]{2,}/g, ' ');
}

/** A table of shares: how often each letter came after each context, scaled to `share` a row. */
function shares(
  rows: number,
  seen: readonly (readonly [row: number, letter: number])[],
  share: number,
): Float32Array {
  const table = new Float32Array(rows * count);
  for (const [row, letter] of seen) table[row * count + letter] = (table[row * count + letter] ?? 0) + 1;
  for (let row = 0; row < rows; row++) {
    const counts = table.subarray(row * count, (row + 1) * count);
    const total = counts.reduce((sum, value) => sum + value, 0);
    if (total > 0) counts.forEach((value, i) => (counts[i] = (value / total) * share));
  }
  return table;
}

/** The model: near and far, INT64 [N, 1], the rows of both tables, to probabilities, FP32 [N, letters]. They may add up to less than 1. */
export function lettersModel(): Uint8Array {
  const letters = numbersOf(pages());
  const seen = letters.slice(farLetters).map((letter, i) => {
    return [rowsAfter(letters.slice(i, i + farLetters)), letter] as const;
  });
  const nearRows = count ** nearLetters;
  const near = shares(
    nearRows,
    seen.map(([rows, letter]) => [rows.near, letter] as const),
    nearShare,
  );
  const far = shares(
    farRows,
    seen.map(([rows, letter]) => [rows.far, letter] as const),
    1 - nearShare,
  );
  return graph('letters')
    .input('near', 'INT64', ['N', 1])
    .input('far', 'INT64', ['N', 1])
    .initializer('near_table', 'FP32', [nearRows, count], near)
    .initializer('far_table', 'FP32', [farRows, count], far)
    .initializer('axis', 'INT64', [1], [1])
    .node('Gather', ['near_table', 'near'], ['near_rows'])
    .node('Gather', ['far_table', 'far'], ['far_rows'])
    .node('Add', ['near_rows', 'far_rows'], ['sum'])
    .node('Squeeze', ['sum', 'axis'], ['probabilities'])
    .output('probabilities', 'FP32', ['N', count])
    .encode();
}
