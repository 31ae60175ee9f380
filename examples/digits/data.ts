/** The handwritten digits that the example's models were not trained on, and where the models are. */
import { readFileSync } from 'node:fs';

/** One image and what it shows. */
export interface Digit {
  /** 8 x 8 pixels, row by row, from 0 (white) to 16 (black): the models' input `image`. */
  readonly pixels: Float32Array<ArrayBuffer>;
  /** 0 to 9. */
  readonly label: number;
}

/** This example's folder in the checkout; compiled, this file lies in `dist/examples/digits`. */
const folder = new URL('../../../examples/digits/', import.meta.url);

/** The model repository with `digits` and `digits_conv`. */
export const modelRepository: URL = new URL('models/', folder);

/** Reads the held-out images: a line is a label, a space, and 64 pixels as digits of base 17. */
export function readHeldOutDigits(file: URL = new URL('held-out.txt', folder)): Digit[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [label = '', pixels = ''] = line.split(' ');
    return { label: Number(label), pixels: Float32Array.from(pixels, (digit) => Number.parseInt(digit, 17)) };
  });
}

/** Index of the largest score: the digit that a model takes an image for. */
export function bestClass(scores: Float32Array): number {
  return scores.indexOf(Math.max(...scores));
}
