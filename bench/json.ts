/** Results as JSON, and back. */
import type { Results } from './results.js';

/** Histograms become [size, count] pairs. */
export function json(value: unknown): string {
  const plain = (_key: string, part: unknown): unknown => (part instanceof Map ? [...part] : part);
  return `${JSON.stringify(value, plain, 1)}\n`;
}

/** Reads what {@link json} made of results. */
export function resultsFrom(text: string): Results {
  const revived = (key: string, part: unknown): unknown =>
    key === 'batches' && Array.isArray(part) ? new Map(part as [number, number][]) : part;
  // Written by this program.
  return JSON.parse(text, revived) as Results;
}
