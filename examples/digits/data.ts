/** The handwritten digits that the example's models were not trained on, and the path of these models. */
import { readFileSync } from 'node:fs';

/** An image and the digit on it. */
export interface Digit {
  /** 8 x 8 pixels, row by row, from 0 (white) to 16 (black). It is the models' input `image`. */
  readonly pixels: Float32Array<ArrayBuffer>;
  /** 0 to 9. */
  readonly label: number;
}

/** The folder of this example. The compiled file lies in `dist/examples/digits`. */
const folder = new URL('../../../examples/digits/', import.meta.url);

/** The model repository with `digits` and `digits_conv`. */
export const modelRepository: URL = new URL('models/', folder);

/** Reads the held-out images. A line is a label, a space, and 64 pixels as digits of base 17. */
export function readHeldOutDigits(file: URL = new URL('held-out.txt', folder)): Digit[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [label = '', pixels = ''] = line.split(' ');
    return { label: Number(label), pixels: Float32Array.from(pixels, (digit) => Number.parseInt(digit, 17)) };
  });
}

/** Index of the largest score, which is the digit that the model sees. */
export function bestClass(scores: Float32Array): number {
  return scores.indexOf(Math.max(...scores));
}
