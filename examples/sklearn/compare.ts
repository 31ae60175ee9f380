/** Compares a served classifier with scikit-learn's own predictions. */

import type { Model } from '../../src/index.js';

/** The content of `held-out.json`, which `train.py` writes. */
export interface HeldOut {
  /** Images of 64 pixels each, from 0 to 16. */
  readonly images: readonly (readonly number[])[];
  /** The labels that scikit-learn predicts. */
  readonly labels: readonly number[];
  readonly probabilities: readonly (readonly number[])[];
}

/** The result of the comparison. */
export interface Comparison {
  readonly images: number;
  /** How many labels are equal. */
  readonly sameLabels: number;
  /** The largest difference of two probabilities of a class. */
  readonly largestDifference: number;
}

/** Classifies each image in its own request, all at once. The server makes batches of them. */
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
