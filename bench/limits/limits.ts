/**
 * Single figures with a limit, other than the throughput of a load: memory, start, strings. All functions are
 * pure.
 */
import { significant } from '../../src/perf/plot/numbers.js';
import { reaches, staysBelow, type Estimate } from '../reports/statistics.js';
import { table } from '../reports/table.js';

/** A measured value with its limit. */
export interface Measured {
  readonly what: string;
  readonly value: Estimate;
  /** 'x' for ratios, '/s' for requests a second. */
  readonly unit: 'x' | '%' | 'ns' | 'µs' | 'ms' | '/s' | 'KiB' | 'MiB';
  /** Absent if the value is only shown. */
  readonly limit?: { readonly atLeast: number } | { readonly atMost: number };
  /** How the value came about, in words. */
  readonly detail?: string;
}

/** Whether a value is within its limit, give or take its spread; true without a limit. */
export function isMet({ value, limit }: Measured): boolean {
  if (!limit) return true;
  return 'atLeast' in limit ? reaches(value, limit.atLeast) : staysBelow(value, limit.atMost);
}

/** A limit in words. */
export function limitText({ limit }: Measured): string {
  if (!limit) return '';
  return 'atLeast' in limit ? `≥ ${limit.atLeast}` : `≤ ${limit.atMost}`;
}

/** The figures as a table. */
export function limitsTable(figures: readonly Measured[]): string {
  const rows = figures.map((figure) => {
    const { what, value, unit, limit, detail } = figure;
    return [
      what,
      significant(value.median),
      significant(value.spread),
      unit,
      limitText(figure),
      limit ? (isMet(figure) ? 'met' : 'MISSED') : '',
      detail ?? '',
    ];
  });
  return table(['figure', 'median', '±', '', 'required', '', ''], rows);
}

/** The table, followed by how many limits are met and which are missed. */
export function limitsText(figures: readonly Measured[]): string {
  const limited = figures.filter(({ limit }) => limit);
  const missed = limited.filter((figure) => !isMet(figure));
  const counts = `${limited.length - missed.length} of ${limited.length} figures met`;
  const conclusion =
    missed.length === 0 ? counts : `${counts}. Missed: ${missed.map(({ what }) => what).join('; ')}`;
  return `${limitsTable(figures)}\n\n${conclusion}`;
}
