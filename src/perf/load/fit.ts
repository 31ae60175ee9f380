/** Fits a load to what the target and the ids of sequences allow, before the first level is measured. */

import { invalidArgument } from '../../errors.js';
import type { PerfLoad } from './perf-load.js';
import type { SequencePlan } from './step-source.js';

/** What limits a load. */
export interface LoadLimits {
  /** How many requests may be under way at once. */
  readonly mostAtOnce: number;
  /** Undefined for models without sequences. */
  readonly sequences: (SequencePlan & { readonly atOnce: number }) | undefined;
}

/**
 * Fits a load. A range with an open end stops at the limits.
 *
 * @throws {@link TritonError} INVALID_ARG for a load above the limits.
 */
export function fitLoad(load: PerfLoad, { mostAtOnce, sequences }: LoadLimits): PerfLoad {
  const ids = sequences === undefined ? Infinity : sequences.lastId - sequences.firstId + 1;
  const check = (atOnce: number, flag: string): void => {
    if (atOnce > mostAtOnce)
      throw invalidArgument(
        `expected at most ${mostAtOnce} requests at once for ${flag} but received ${atOnce}`,
      );
    if (atOnce > ids)
      throw invalidArgument(
        `--sequence-id-range has ${ids} ids, too few for the ${atOnce} sequences at once of ${flag}`,
      );
  };
  if (load.mode !== 'concurrency') {
    if (sequences !== undefined) check(sequences.atOnce, '--num-of-sequences');
    return load;
  }
  const { start, end, step } = load.range;
  check(end === Infinity ? start : end, '--concurrency-range');
  return { ...load, range: { start, end: Math.min(end, mostAtOnce, ids), step } };
}
