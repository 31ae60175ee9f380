/** How many zero crossings of its sine the filter has on each side. More of them make it steeper and slower. */
const crossings = 16;

/** The edge of the filter, as a part of the lower one of the two sampling rates. Half would need an infinite filter. */
const edge = 0.45;

/**
 * Changes the sampling rate of a sound that arrives in pieces: a sine under a window (Hann) around each new sample. What
 * lies above half of the new rate is removed, since it would come back as other tones.
 */
export class Resampler {
  #held;
  #at;
  #phase = 0;
  #kernels = new Map();

  /**
   * @param {number} from - Samples a second of what comes.
   * @param {number} to - Samples a second of what is wanted.
   */
  constructor(from, to) {
    const divisor = greatestCommonDivisor(from, to);
    // A step from one new sample to the next, in parts of an old sample.
    this.step = from / divisor;
    this.parts = to / divisor;
    this.cutoff = edge * Math.min(1, to / from);
    this.half = from === to ? 0 : Math.ceil(crossings / (2 * this.cutoff));
    // Before the first sample there was silence.
    this.#held = new Float32Array(this.half);
    this.#at = this.half;
  }

  /**
   * The new samples that are known now. The last ones need samples of the next piece.
   *
   * @param {Float32Array} samples
   * @returns {Float32Array}
   */
  push(samples) {
    if (this.half === 0) return samples;
    const { half, step, parts } = this;
    const held = new Float32Array(this.#held.length + samples.length);
    held.set(this.#held);
    held.set(samples, this.#held.length);
    const made = [];
    let at = this.#at;
    for (; at + half < held.length; at += Math.floor(this.#phase / parts), this.#phase %= parts) {
      let sum = 0;
      for (const [i, weight] of this.#kernel(this.#phase).entries()) sum += weight * held[at - half + i];
      made.push(sum);
      this.#phase += step;
    }
    const done = Math.min(at - half, held.length);
    this.#held = held.slice(done);
    this.#at = at - done;
    return Float32Array.from(made);
  }

  /**
   * The last samples: silence follows.
   *
   * @returns {Float32Array}
   */
  end() {
    return this.push(new Float32Array(this.half));
  }

  /**
   * The weights of the old samples around a new one.
   *
   * @param {number} phase - Where it lies behind an old sample, in parts of the distance to the next one.
   * @returns {Float64Array}
   */
  #kernel(phase) {
    const known = this.#kernels.get(phase);
    if (known) return known;
    const kernel = Float64Array.from({ length: 2 * this.half + 1 }, (_, i) => {
      const distance = i - this.half - phase / this.parts;
      const angle = 2 * Math.PI * this.cutoff * distance;
      const sine = angle === 0 ? 1 : Math.sin(angle) / angle;
      return Math.abs(distance) > this.half ? 0 : sine * (1 + Math.cos((Math.PI * distance) / this.half));
    });
    // A constant sound stays as loud as it was.
    const sum = kernel.reduce((total, weight) => total + weight, 0);
    const scaled = kernel.map((weight) => weight / sum);
    this.#kernels.set(phase, scaled);
    return scaled;
  }
}

/**
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
function greatestCommonDivisor(a, b) {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
