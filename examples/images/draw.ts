/**
 * Draws handwritten digits as photographs of a sheet of paper: `node dist/examples/images/draw.js FOLDER [count]`
 * writes that many of the held-out digits (default: all 360) as JPEG files.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readHeldOutDigits, type Digit } from '../digits/data.js';
import { sharpPackage, type SharpPackage } from './sharp.js';

/** Pixels of a picture. The digit fills the square in its middle. */
export const width = 640;
export const height = 480;

/** Brightness of the paper, and how much its grain changes that. */
const paper = 242;
const grain = 12;

/** A digit as a JPEG file of 640 x 480 pixels. The same digit is the same file. */
export async function draw(sharp: SharpPackage, { pixels }: Digit): Promise<Buffer> {
  const small = Uint8Array.from(pixels, (ink) => Math.round(paper * (1 - ink / 16)));
  const digit = await sharp(small, { raw: { width: 8, height: 8, channels: 1 } })
    .resize(height, height, { kernel: 'cubic' })
    .greyscale()
    .raw()
    .toBuffer();
  const picture = new Uint8ClampedArray(width * height);
  const margin = (width - height) / 2;
  const random = numbers(pixels);
  for (let i = 0; i < picture.length; i += 1) {
    const [x, y] = [(i % width) - margin, Math.floor(i / width)];
    const brightness = x >= 0 && x < height ? (digit[y * height + x] ?? paper) : paper;
    picture[i] = brightness + grain * (random() - 0.5);
  }
  return sharp(new Uint8Array(picture.buffer), { raw: { width, height, channels: 1 } })
    .jpeg({ quality: 85 })
    .toBuffer();
}

/** Numbers from 0 to 1 that look random (xorshift), begun with the pixels. */
function numbers(pixels: Float32Array): () => number {
  let state = pixels.reduce((sum, pixel) => Math.imul(sum, 31) + pixel, 1) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [folder = 'pictures', count] = process.argv.slice(2);
  const sharp = await sharpPackage();
  if (!sharp) throw new Error('sharp is not installed: npm ci');
  mkdirSync(folder, { recursive: true });
  for (const [i, digit] of readHeldOutDigits()
    .slice(0, count === undefined ? undefined : Number(count))
    .entries())
    writeFileSync(join(folder, `${String(i).padStart(3, '0')}-${digit.label}.jpg`), await draw(sharp, digit));
}
