/** Numbers for readers. */

/** A number with commas between thousands. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/**
 * A number with the decimals that matter: three below a tenth, none from a hundred on, and none of what rounds to 0. Undefined becomes an
 * empty text.
 */
export function significant(value: number | undefined): string {
  if (value === undefined) return '';
  const size = Math.abs(value);
  if (size < 0.0005) return '0';
  if (size >= 99.95) return grouped(value);
  return value.toFixed(size < 0.1 ? 3 : size < 9.995 ? 2 : 1);
}

/** A number such as 1.5k or 2M, for axes. */
export function short(value: number): string {
  if (value >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (value >= 1e3) return `${trimmed(value / 1e3)}k`;
  return trimmed(value);
}

/** A number with three digits at most. */
export function trimmed(value: number): string {
  return String(Number(value.toPrecision(3)));
}
