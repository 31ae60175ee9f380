/**
 * The load of the soak: a closed loop of requests of mixed sizes, some of which are cancelled. It runs in
 * every environment.
 */

import { type InferenceServer, TritonError } from '../../src/index.js';
import { random } from '../support/onnx/random.js';

/** The outcome of a part of the load. */
export interface LoadResult {
  readonly answered: number;
  readonly cancelled: number;
  readonly refused: number;
}

/** Number of outstanding requests in each environment. */
const outstanding = 64;
/**
 * Number of elements of an input: small inputs go to slabs and large ones to blocks. Outputs are cut from
 * pages or handed over.
 */
const sizes = [1, 16, 200, 3000, 40_000];

/**
 * Sends requests until `count` have ended, and checks each answer.
 *
 * @param onProgress - Called now and then with the number of requests that have ended.
 * @throws {Error} If an answer is wrong, or if a request fails for a reason that the load does not cause.
 */
export async function soakLoad(
  server: InferenceServer,
  count: number,
  seed: number,
  onProgress: (ended: number) => Promise<void> | void = () => undefined,
): Promise<LoadResult> {
  const chance = random(seed);
  const result = { answered: 0, cancelled: 0, refused: 0 };
  let begun = 0;
  let ended = 0;
  const one = async (): Promise<void> => {
    const size = sizes[chance.integer(sizes.length)] ?? 1;
    const value = Math.fround(chance.next());
    const name = chance.next() < 0.5 ? 'identity' : 'add';
    const cancel = chance.next() < 0.02 ? new AbortController() : undefined;
    const expected = Math.fround(name === 'add' ? value + 1 : value);
    try {
      const answer = server
        .model(name)
        .infer({ x: new Float32Array(size).fill(value) }, { signal: cancel?.signal });
      cancel?.abort();
      const data = (await answer).outputs['y']?.as('FP32').data;
      if (data?.length !== size || data[0] !== expected || data[size - 1] !== expected) {
        throw new Error(
          `${name} answered ${data?.length ?? 0} elements of ${data?.[0] ?? NaN} to ${size} of ${value}`,
        );
      }
      result.answered++;
    } catch (error) {
      if (!(error instanceof TritonError)) throw error;
      if (error.code === 'CANCELLED' && cancel) result.cancelled++;
      else if (error.code === 'UNAVAILABLE' && /in flight/.test(error.message)) result.refused++;
      else throw error;
    }
  };
  const loop = async (): Promise<void> => {
    while (begun < count) {
      begun++;
      await one();
      ended++;
      if (ended % 1000 === 0) await onProgress(ended);
    }
  };
  await Promise.all(Array.from({ length: outstanding }, loop));
  return result;
}
