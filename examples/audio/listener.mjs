import { Sound } from './models/decode/1/sound.mjs';
import { Keypad } from './models/keys/1/keypad.mjs';

/** Samples that the model `listen` takes at a time: 20 ms. */
const chunk = 160;

/**
 * The keys of a WAV file that is still arriving, as soon as they are heard.
 *
 * @param {import('tritonts').Model} model - The model `listen`.
 * @param {AsyncIterable<Uint8Array>} pieces - The file, in pieces of any size: of a socket, a microphone's program, a file.
 * @returns {AsyncGenerator<string, void, void>}
 */
export async function* keysOf(model, pieces) {
  const sound = new Sound();
  const keypad = new Keypad();
  // The server keeps what the classifier has heard of this sound, and batches its chunks with those of others.
  const sequence = model.sequence();
  const chunks = new Chunks();
  try {
    for await (const piece of pieces)
      for (const samples of chunks.push(sound.push(piece)))
        yield* keypad.push((await sequence.infer({ samples })).outputs.scores.as('FP32').data);
    for (const samples of chunks.push(sound.end()))
      yield* keypad.push((await sequence.infer({ samples })).outputs.scores.as('FP32').data);
    yield* keypad.push((await sequence.end({ samples: chunks.last() })).outputs.scores.as('FP32').data);
  } finally {
    // Does nothing after the end above. Without it, a fault would leave the sequence's place taken for a while.
    await sequence.end();
  }
}

/** Samples in portions of one size. */
class Chunks {
  #rest = new Float32Array();

  /**
   * The portions that are full.
   *
   * @param {Float32Array} samples
   */
  *push(samples) {
    const all = new Float32Array(this.#rest.length + samples.length);
    all.set(this.#rest);
    all.set(samples, this.#rest.length);
    let at = 0;
    for (; at + chunk <= all.length; at += chunk) yield all.slice(at, at + chunk);
    this.#rest = all.slice(at);
  }

  /** The last portion, filled up with silence. */
  last() {
    const samples = new Float32Array(chunk);
    samples.set(this.#rest);
    return samples;
  }
}
