/** Divides the time of a search among its parts. All functions are pure. */

/** The shares of the budget at whose end each part stops; the rest belongs to the rounds. */
export const shares = { grid: 0.4, steps: 0.62, simpler: 0.74 } as const;

/** What a measurement costs: a load and a warm-up, and the window once for each level. */
export interface Costs {
  readonly overheadMs: number;
  readonly factor: number;
}

/** Before the first measurement. */
export const noCosts: Costs = { overheadMs: 0, factor: 1 };

/** A later measurement counts for this part of the estimate. */
const weight = 0.3;

/**
 * The costs after a measurement.
 *
 * @param tookMs - How long it took.
 * @param levels - Its levels, each of which has a window.
 */
export function costsAfter(before: Costs, tookMs: number, windowMs: number, levels: number): Costs {
  // A load and a warm-up take time that does not grow with the window.
  const overheadMs = Math.max(0, tookMs - levels * windowMs);
  return {
    overheadMs:
      before === noCosts ? overheadMs : before.overheadMs + weight * (overheadMs - before.overheadMs),
    factor: Math.max(before.factor, levels),
  };
}

/** The shortest window. */
export const leastWindowMs = 120;
/** The longest window of the grid's first measurements. */
const mostMs = 1000;

/**
 * The grid: how many candidates it may have, and its first window. A third of the candidates is measured again for twice the
 * time, a ninth for four times, and so on: in all, one and a half measurements each, and three windows.
 */
export function planGrid(
  timeMs: number,
  { overheadMs, factor }: Costs,
  candidates: number,
): { readonly most: number; readonly windowMs: number } {
  const windowMs = (timeMs / candidates - 1.5 * overheadMs) / (3 * factor);
  if (windowMs >= leastWindowMs)
    return { most: candidates, windowMs: Math.min(mostMs, Math.floor(windowMs)) };
  const most = Math.floor(timeMs / (1.5 * overheadMs + 3 * factor * leastWindowMs));
  return { most: Math.max(2, most), windowMs: leastWindowMs };
}

/** The fewest rounds that a test of significance says anything of. */
export const leastRounds = 5;
/** The most that are worth their time. */
const mostRounds = 14;
const longestWindowMs = 3000;

/** The rounds: how many, and how long. Fewer and shorter ones if there is little time, more and longer ones if there is much. */
export function planRounds(
  timeMs: number,
  { overheadMs, factor }: Costs,
  candidates: number,
  windowMs: number,
): { readonly rounds: number; readonly windowMs: number } {
  const roundMs = candidates * (overheadMs + factor * windowMs);
  const rounds = Math.floor(timeMs / roundMs);
  const costs = { overheadMs, factor };
  if (rounds < leastRounds)
    return { rounds: leastRounds, windowMs: windowFor(timeMs / leastRounds / candidates, costs, windowMs) };
  if (rounds <= mostRounds) return { rounds, windowMs };
  return {
    rounds: mostRounds,
    windowMs: windowFor(timeMs / mostRounds / candidates, costs, longestWindowMs),
  };
}

/** The window of a measurement that may take a time, within limits. */
export function windowFor(timeMs: number, { overheadMs, factor }: Costs, most: number): number {
  return Math.max(leastWindowMs, Math.min(most, Math.floor((timeMs - overheadMs) / factor)));
}

/** How many candidates can go through the fewest rounds beside the present one, in a time; at least one. */
export function planFinalists(timeMs: number, { overheadMs, factor }: Costs, most: number): number {
  const each = leastRounds * (overheadMs + factor * leastWindowMs);
  return Math.max(1, Math.min(most, Math.floor(timeMs / each) - 1));
}
