/**
 * Seeded pseudo-random numbers, so that a model's weights are the same on every machine and in every run.
 *
 * The generator is mulberry32: a 32-bit counter with an odd step, scrambled by two rounds of xor-shift and
 * multiply. It has 2^32 states and is meant for weights and test data, nothing else.
 */
export interface Random {
  /** The next number, uniform in [0, 1). */
  next(): number;
  /** The next integer, uniform in [0, limit). */
  integer(limit: number): number;
  /** `count` floats, uniform in [-limit, limit). */
  floats(count: number, limit: number): Float32Array;
}

/** A generator that starts from `seed`, of which the low 32 bits count. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  return {
    next,
    integer: (limit) => Math.floor(next() * limit),
    floats: (count, limit) => {
      const values = new Float32Array(count);
      for (let i = 0; i < count; i += 1) values[i] = (2 * next() - 1) * limit;
      return values;
    },
  };
}
