/** Writes a table to score: the held-out images of examples/digits as a CSV file, a row for each. */

import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { readHeldOutDigits } from '../digits/data.js';

/**
 * Writes a header, and `rows` rows: a label and 64 pixels. The images repeat. A later copy misses pixels, so that
 * rows differ and some values are absent.
 */
export async function writeTable(file: string, rows: number): Promise<void> {
  const digits = readHeldOutDigits();
  const table = createWriteStream(file);
  table.write(`label,${Array.from({ length: 64 }, (_, i) => `pixel${i}`).join(',')}\n`);
  for (let row = 0; row < rows; row++) {
    const { label, pixels } = digits[row % digits.length] ?? { label: 0, pixels: [] };
    const copy = Math.floor(row / digits.length);
    const cells = [...pixels].map((pixel, i) => (copy > 0 && (i * 7 + row) % 61 === copy ? '' : pixel));
    if (!table.write(`${label},${cells.join(',')}\n`)) await once(table, 'drain');
  }
  table.end();
  await finished(table);
}
