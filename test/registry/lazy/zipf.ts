/** Requests for many models by a Zipf law: the model of rank k is asked for 1/k times as often as the first one. */

import { floats } from '../../support/harness.js';
import type { InferResult } from '../../../src/index.js';

/** Runs a model on an input of sixteen numbers. */
export type Infer = (
  model: string,
  inputs: { readonly x: Float32Array },
) => Promise<Pick<InferResult, 'outputs'>>;

/** The name of a model by its number. */
export function modelName(index: number): string {
  return `m${String(index).padStart(4, '0')}`;
}

/** Returns a function that chooses numbers below `count` by a Zipf law, the same ones for the same seed. */
export function zipf(count: number, seed = 1): () => number {
  const sums: number[] = [];
  let sum = 0;
  for (let rank = 1; rank <= count; rank++) sums.push((sum += 1 / rank));
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    const value = (state / 2 ** 31) * sum;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** What {@link runZipf} has done. */
export interface ZipfOutcome {
  readonly answered: number;
  /** The errors of failed requests, at most ten. */
  readonly errors: readonly string[];
  readonly failed: number;
}

/**
 * Sends requests, `atOnce` of them at a time from each caller, and checks the answers, which are the inputs plus
 * `added`; undefined: they are not checked.
 */
export async function runZipf(
  callers: readonly Infer[],
  work: {
    readonly models: number;
    readonly requests: number;
    readonly atOnce: number;
    readonly added: number | undefined;
  },
): Promise<ZipfOutcome> {
  const errors: string[] = [];
  let [begun, answered, failed] = [0, 0, 0];
  const one = async (infer: Infer, seed: number): Promise<void> => {
    const choose = zipf(work.models, seed);
    while (begun < work.requests) {
      const value = begun++ % 1000;
      const x = new Float32Array(16).fill(value);
      try {
        const result = floats(await infer(modelName(choose()), { x }));
        const { added } = work;
        if (added !== undefined && result.some((y) => y !== value + added))
          throw new Error(`wrong answer: ${result.join(' ')}`);
        answered++;
      } catch (error) {
        failed++;
        if (errors.length < 10) errors.push(String(error));
      }
    }
  };
  await Promise.all(
    callers.flatMap((infer, i) =>
      Array.from({ length: work.atOnce }, (_, k) => one(infer, 1 + i * work.atOnce + k)),
    ),
  );
  return { answered, errors, failed };
}
