import { TritonError } from 'tritonts';
import { decode } from './sound.mjs';

/** Lengths are multiples of this, half a second: files of like lengths share a batch of the next model. */
const step = 4000;

/** The longest sound, ten minutes. */
const longest = 4_800_000;

/** WAV files to samples. */
export default class Decode {
  /** @param {readonly import('tritonts/javascript').ModelRequest[]} requests */
  execute(requests) {
    return requests.map(({ inputs }) => decodeAll(inputs.wav.as('BYTES').data));
  }
}

/**
 * The result of one request. An error in place of it fails this request, and no other of its batch.
 *
 * @param {readonly Buffer[]} files
 */
function decodeAll(files) {
  try {
    const sounds = files.map(decode);
    const most = Math.max(...sounds.map(({ length }) => length));
    if (most > longest) throw new Error('expected at most ten minutes of sound');
    const length = Math.max(1, Math.ceil(most / step)) * step;
    const data = new Float32Array(files.length * length);
    for (const [row, sound] of sounds.entries()) data.set(sound, row * length);
    return { samples: { data, shape: [files.length, length] } };
  } catch (error) {
    return new TritonError('INVALID_ARG', `wav: ${error.message}`);
  }
}
