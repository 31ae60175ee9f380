/** How much memory models take, by what the process, the runtimes, and the processes of models tell. */

import { getHeapStatistics } from 'node:v8';

/**
 * What the process has in memory, in bytes. The system tells it in a file. Undefined if none can be opened, because the process
 * has no file descriptor left: no load fails because its memory cannot be measured.
 */
export function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

/**
 * What the process has in memory besides V8's heap and the array buffers of this environment, in bytes. These grow and shrink with
 * the program's own objects, and no unload makes them smaller. Undefined if it cannot be read.
 */
export function memoryOutsideHeap(): number | undefined {
  const { total_heap_size: heap, external_memory: buffers } = getHeapStatistics();
  const bytes = residentBytes();
  return bytes === undefined ? undefined : bytes - heap - buffers;
}

/** What a loaded model was found to take. */
export interface Told {
  /** What its runtime says that it holds, in bytes; 0: it does not say. */
  readonly told: number;
  /** What its own processes take, in bytes. */
  readonly besides: number;
}

/** The estimate of what a model takes, in bytes. */
export interface Size extends Told {
  /** The sum. */
  readonly bytes: number;
  /** What it takes in the process besides what its runtime says. */
  readonly rest: number;
  /** Whether it is of loads: otherwise it is guessed. */
  readonly isMeasured: boolean;
  /** Whether its load made the process grow so much that the next one has to confirm it. */
  readonly isDoubtful: boolean;
}

/** What each loaded model takes at least: its entries in tables, its queue, its session. */
const leastBytes = 64 * 1024;

/** How much of an estimate a later load may change. */
const weight = 0.1;

/** What may be there besides what the runtime says: this, and a part of it. */
const restBytes = 2 ** 20;
const restPart = 1 / 4;

/** A first measurement below this is not doubted, and neither is one of this many times what other models take. */
const doubtBytes = 8 * 2 ** 20;
const doubtFactor = 4;

function sizeOf(rest: number, { told, besides }: Told, state: Pick<Size, 'isMeasured' | 'isDoubtful'>): Size {
  const held = told > 0 ? Math.min(rest, restBytes + told * restPart) : rest;
  const least = Math.max(leastBytes, Math.round(held));
  return { bytes: least + told + besides, rest: least, told, besides, ...state };
}

/** The guess of a model that was not loaded. */
export function guessedSize(bytes: number): Size {
  return sizeOf(bytes, { told: 0, besides: 0 }, { isMeasured: false, isDoubtful: false });
}

/**
 * The estimate of a model after a load. Allocators give a new model the memory of an old one, so that the process hardly
 * grows, and other work may make it grow meanwhile. So later loads change an estimate slowly, and what the runtime says bounds it. A
 * first measurement without such a bound that is far above that of others is confirmed by the next load.
 *
 * @param grown - How much the process grew in the load.
 * @param before - The estimate before: of earlier loads, or a guess.
 * @param others - What other models take on average; undefined: that is not known.
 */
export function sizeAfter(grown: number, found: Told, before: Size, others: number | undefined): Size {
  const rest = grown - found.told;
  if (!before.isMeasured) {
    const isDoubtful =
      found.told === 0 && rest > Math.max(doubtBytes, others === undefined ? 0 : others * doubtFactor);
    const least = found.told > 0 ? 0 : Math.round(before.rest / 2);
    return sizeOf(Math.max(rest, least), found, { isMeasured: true, isDoubtful });
  }
  // Free memory was returned to the system before such a load: it shows what the model takes.
  if (before.isDoubtful)
    return sizeOf(Math.min(rest, before.rest), found, { isMeasured: true, isDoubtful: false });
  const seen = Math.min(Math.max(rest, before.rest / 2), before.rest * 2);
  return sizeOf(before.rest + weight * (seen - before.rest), found, { isMeasured: true, isDoubtful: false });
}

/** The estimate of a loaded model by what is told of it later: runtimes take memory at the first requests. */
export function sizeNow(found: Told, before: Size): Size {
  const { isMeasured, isDoubtful } = before;
  // A guess is of all that it takes.
  const rest = isMeasured ? before.rest : Math.max(0, before.bytes - found.told - found.besides);
  return sizeOf(found.told > 0 && !isMeasured ? Math.min(rest, restBytes) : rest, found, {
    isMeasured: isMeasured || found.told > 0,
    isDoubtful,
  });
}

/** How far the growth of the process corrects the estimates, at most. */
const mostScale = 2;
/** Fewer models say little about the others. */
const leastModels = 4;

/**
 * What the estimates are to be multiplied with, so that their sum is the growth of the process.
 *
 * @param growth - Of the process since its start.
 * @param sum - Of the estimates of the loaded models.
 */
export function scaleOf(growth: number, sum: number, models: number): number {
  if (models < leastModels || sum === 0) return 1;
  return Math.min(mostScale, Math.max(1 / mostScale, growth / sum));
}
