/** Numbers for readers. */

/** A number with commas between thousands. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/**
 * A number with the decimals that matter: three below a tenth, none from a hundred on. Undefined becomes an
 * empty text.
 */
export function significant(value: number | undefined): string {
  if (value === undefined) return '';
  const size = Math.abs(value);
  if (size >= 99.95) return grouped(value);
  return value.toFixed(size < 0.1 ? 3 : size < 9.995 ? 2 : 1);
}
