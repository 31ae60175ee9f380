/** Converts results to JSON and back. */
import type { Results } from './results.js';

/** Text of a value. Histograms become [size, count] pairs. */
export function json(value: unknown): string {
  const plain = (_key: string, part: unknown): unknown => (part instanceof Map ? [...part] : part);
  return `${JSON.stringify(value, plain, 1)}\n`;
}

/** Reads results that {@link json} wrote. */
export function resultsFrom(text: string): Results {
  const revived = (key: string, part: unknown): unknown =>
    key === 'batches' && Array.isArray(part) ? new Map(part as [number, number][]) : part;
  // This program wrote it.
  return JSON.parse(text, revived) as Results;
}
