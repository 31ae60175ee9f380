/** Tables in plain text. */

/**
 * Lines up cells in columns: text in the first two to the left, numbers to the right.
 *
 * @param head - Titles of the columns.
 * @param rows - Cells, of which empty ones stand for nothing.
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const right = head.map((_, column) => rows.every((row) => isNumber(row[column] ?? '')));
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? '';
        return right[column] === true ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function isNumber(cell: string): boolean {
  return /^[≥≤]?\s*-?[\d.,]*(e-?\d+)?\s*(ms|µs|s|%|x)?$/.test(cell);
}
