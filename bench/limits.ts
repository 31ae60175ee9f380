/** Single figures with a limit, for what is no throughput of a load: memory, start, strings. Pure functions. */
import { significant } from './numbers.js';
import { reaches, staysBelow, type Estimate } from './statistics.js';
import { table } from './table.js';

/** Something that was measured, with what is required of it. */
export interface Measured {
  readonly what: string;
  readonly value: Estimate;
  /** 'x' for ratios. */
  readonly unit: 'x' | '%' | 'ns' | 'ms' | 'KiB' | 'MiB';
  /** Absent where the figure is only shown. */
  readonly limit?: { readonly atLeast: number } | { readonly atMost: number };
  /** What the value comes from, in words. */
  readonly detail?: string;
}

/** Whether a figure is within its limit, give or take its spread; true without a limit. */
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

/** The table, and under it how many are met and which are missed. */
export function limitsText(figures: readonly Measured[]): string {
  const limited = figures.filter(({ limit }) => limit);
  const missed = limited.filter((figure) => !isMet(figure));
  const counts = `${limited.length - missed.length} of ${limited.length} figures met`;
  const conclusion =
    missed.length === 0 ? counts : `${counts}. Missed: ${missed.map(({ what }) => what).join('; ')}`;
  return `${limitsTable(figures)}\n\n${conclusion}`;
}
