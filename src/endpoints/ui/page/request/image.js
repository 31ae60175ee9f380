// Images as tensors.

import { told, Wrong } from './wrong.js';

/** Where an image's channels are in a shape with 3 dims behind the batch, or with 3 dims; undefined: nowhere. */
export function imageLayout({ shape, datatype }) {
  if (datatype === 'BYTES' || datatype === 'BOOL') return undefined;
  const dims = shape.length === 4 ? shape.slice(1) : shape;
  if (dims.length !== 3) return undefined;
  if (dims[0] === 3 || dims[0] === 1)
    return { order: 'CHW', channels: dims[0], height: dims[1], width: dims[2] };
  if (dims[2] === 3 || dims[2] === 1)
    return { order: 'HWC', channels: dims[2], height: dims[0], width: dims[1] };
  return undefined;
}

/** The ranges of an image's values. */
export const imageRanges = [
  ['1', 'from 0 to 1'],
  ['255', 'from 0 to 255'],
  ['-1', 'from -1 to 1'],
];

/** Pixels that an image may have as a tensor. */
const mostPixels = 2 ** 24;

async function pixelsOf(file, { height, width }) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch (cause) {
    throw new Wrong(`expected an image that the browser can read but received ${told(file.name)}`, { cause });
  }
  const size = {
    width: width > 0 ? width : bitmap.width,
    height: height > 0 ? height : bitmap.height,
  };
  if (size.width * size.height > mostPixels) {
    bitmap.close();
    throw new Wrong(
      `expected an image of at most ${mostPixels.toLocaleString('en-US')} pixels but received ${size.width} x ${size.height}`,
    );
  }
  const canvas = new OffscreenCanvas(size.width, size.height);
  const context = canvas.getContext('2d');
  context.drawImage(bitmap, 0, 0, size.width, size.height);
  bitmap.close();
  return { ...size, pixels: context.getImageData(0, 0, size.width, size.height).data };
}

/**
 * An image's pixels as numbers, how many, and their shape.
 *
 * @param rank - How many dims the input has.
 * @returns `each` calls a function with the index and the value of each number, from one pixel to another one. A photo has too many
 *   for a list. `places` are its pixels.
 * @throws {Wrong} For a file that is not an image, or a larger one than a tensor is made of.
 */
export async function imageData(file, layout, rank, range) {
  const { order, channels } = layout;
  const { width, height, pixels } = await pixelsOf(file, layout);
  const area = width * height;
  const scaled = (byte) => (range === '255' ? byte : range === '1' ? byte / 255 : byte / 127.5 - 1);
  const [ofChannel, ofPixel] = order === 'CHW' ? [area, 1] : [1, channels];
  const grey = (at) => 0.299 * pixels[at] + 0.587 * pixels[at + 1] + 0.114 * pixels[at + 2];
  const each = (call, from, to) => {
    for (let i = from; i < to; i++)
      for (let channel = 0; channel < channels; channel++) {
        const colour = channels === 3 ? pixels[4 * i + channel] : grey(4 * i);
        call(channel * ofChannel + i * ofPixel, scaled(range === '255' ? Math.round(colour) : colour));
      }
  };
  const dims = order === 'CHW' ? [channels, height, width] : [height, width, channels];
  return { each, places: area, count: channels * area, shape: rank === 4 ? [1, ...dims] : dims };
}
