/** Random choices that a seed repeats. */

import { random, type Random } from '../support/onnx/random.js';

/** See the head of this file. */
export class Dice {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = random(seed);
  }

  /** A whole number from 0 to below `most`. */
  below(most: number): number {
    return this.#random.integer(most);
  }

  /** True once in `times` times on average. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  /** An element of a list, which must not be empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}
