/** Compares a served classifier with scikit-learn's own predictions. */

import type { Model } from '../../src/index.js';

/** What `train.py` writes to `held-out.json`. */
export interface HeldOut {
  /** 64 pixels each, from 0 to 16. */
  readonly images: readonly (readonly number[])[];
  /** What scikit-learn predicts. */
  readonly labels: readonly number[];
  readonly probabilities: readonly (readonly number[])[];
}

/** What comparing came to. */
export interface Comparison {
  readonly images: number;
  /** How many labels are the same. */
  readonly sameLabels: number;
  /** Between two probabilities of a class. */
  readonly largestDifference: number;
}

/** Classifies each image in a request of its own, all at once: the server makes batches of them. */
export async function compare(model: Model, heldOut: HeldOut): Promise<Comparison> {
  const results = await Promise.all(heldOut.images.map((image) => model.infer({ X: [image] })));
  let sameLabels = 0;
  let largestDifference = 0;
  for (const [i, { outputs }] of results.entries()) {
    if (Number(outputs['label']?.as('INT64').data[0]) === heldOut.labels[i]) sameLabels += 1;
    const expected = heldOut.probabilities[i] ?? [];
    outputs['probabilities']?.as('FP32').data.forEach((probability, digit) => {
      largestDifference = Math.max(largestDifference, Math.abs(probability - (expected[digit] ?? NaN)));
    });
  }
  return { images: results.length, sameLabels, largestDifference };
}
