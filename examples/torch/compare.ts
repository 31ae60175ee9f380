/** Compares a served network with PyTorch's own answers. */

import type { Model } from '../../src/index.js';

/** The content of `held-out.json`, which `train.py` writes. */
export interface HeldOut {
  /** Images of 64 pixels each, from 0 to 16. */
  readonly images: readonly (readonly number[])[];
  /** The digits on the images. */
  readonly labels: readonly number[];
  /** The scores that PyTorch computes. */
  readonly scores: readonly (readonly number[])[];
}

/** The result of the comparison. */
export interface Comparison {
  readonly images: number;
  /** How many digits the network tells right. */
  readonly right: number;
  /** The largest difference of two scores, as a part of the image's largest score. */
  readonly largestDifference: number;
  /** The largest batch that the server made of the requests. */
  readonly largestBatch: number;
}

/** Asks for each image in its own request, all at once. The server makes batches of them. */
export async function compare(model: Model, heldOut: HeldOut): Promise<Comparison> {
  const results = await Promise.all(heldOut.images.map((image) => model.infer({ image: [image] })));
  let right = 0;
  let largestDifference = 0;
  for (const [i, { outputs }] of results.entries()) {
    const scores = outputs['scores']?.as('FP32').data ?? new Float32Array();
    const expected = heldOut.scores[i] ?? [];
    const largest = Math.max(...expected.map(Math.abs));
    for (const [digit, score] of expected.entries())
      // A missing score is NaN, and so is the result.
      largestDifference = Math.max(largestDifference, Math.abs(score - (scores[digit] ?? NaN)) / largest);
    if (scores.indexOf(Math.max(...scores)) === heldOut.labels[i]) right += 1;
  }
  const largestBatch = Math.max(...results.map(({ timings }) => timings.batchSize));
  return { images: results.length, right, largestDifference, largestBatch };
}
