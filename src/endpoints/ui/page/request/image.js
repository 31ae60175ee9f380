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
  const canvas = new OffscreenCanvas(size.width, size.height);
  const context = canvas.getContext('2d');
  context.drawImage(bitmap, 0, 0, size.width, size.height);
  return { ...size, pixels: context.getImageData(0, 0, size.width, size.height).data };
}

/**
 * An image's pixels as numbers, and their shape.
 *
 * @param rank - How many dims the input has.
 * @throws {Wrong} For a file that is not an image.
 */
export async function imageData(file, layout, rank, range) {
  const { order, channels } = layout;
  const { width, height, pixels } = await pixelsOf(file, layout);
  const area = width * height;
  const scaled = (byte) => (range === '255' ? byte : range === '1' ? byte / 255 : byte / 127.5 - 1);
  const data = new Array(channels * area);
  for (let i = 0; i < area; i++) {
    const colours =
      channels === 3
        ? [pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2]]
        : [0.299 * pixels[4 * i] + 0.587 * pixels[4 * i + 1] + 0.114 * pixels[4 * i + 2]];
    colours.forEach((colour, channel) => {
      data[order === 'CHW' ? channel * area + i : i * channels + channel] = scaled(
        range === '255' ? Math.round(colour) : colour,
      );
    });
  }
  const dims = order === 'CHW' ? [channels, height, width] : [height, width, channels];
  return { data, shape: rank === 4 ? [1, ...dims] : dims };
}
