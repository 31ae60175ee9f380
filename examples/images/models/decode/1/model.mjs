import sharp from 'sharp';
import { TritonError } from 'tritonts';

/** Width and height of the image that the next model takes, and of the blocks of pixels that are averaged for it. */
const size = 8;
const block = 4;

/** JPEG files to the pixels of their middle. */
export default class Decode {
  /** @param {readonly import('tritonts/javascript').ModelRequest[]} requests */
  execute(requests) {
    return Promise.all(requests.map(({ inputs }) => decodeAll(inputs.jpeg.as('BYTES').data)));
  }
}

/**
 * The result of one request. An error in place of it fails this request, and no other of its batch.
 *
 * @param {readonly Buffer[]} files
 */
async function decodeAll(files) {
  try {
    const images = await Promise.all(files.map(decode));
    return { image: { data: images.flatMap((image) => [...image]), shape: [files.length, size * size] } };
  } catch (error) {
    return new TritonError('INVALID_ARG', `jpeg: ${error.message}`);
  }
}

/**
 * Blocks of 4 x 4 pixels become one, as in the data set that the next model learned from.
 *
 * @param {Buffer} file
 */
export async function decode(file) {
  const side = size * block;
  const pixels = await sharp(file).greyscale().resize(side, side, { fit: 'cover' }).raw().toBuffer();
  const image = new Float32Array(size * size);
  for (const [i, brightness] of pixels.entries()) {
    const [x, y] = [i % side, Math.floor(i / side)];
    image[Math.floor(y / block) * size + Math.floor(x / block)] += (1 - brightness / 255) * (16 / block ** 2);
  }
  return image;
}
