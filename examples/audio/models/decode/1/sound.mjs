import { decoder } from '@audio/decode-wav';
import { Resampler } from './resample.mjs';

/** Samples a second that the models take: as a telephone has. */
export const rate = 8000;

/** The lowest and the highest sampling rate of a file. */
const rates = [4000, 192_000];

/** More channels than this make a small file large. */
const mostChannels = 8;

/** The bytes of a header, with all that may stand before the samples. */
const longestHeader = 65_536;

/** A WAV file that arrives in pieces, as one channel of {@link rate} samples a second. */
export class Sound {
  #decoder = decoder();
  /** @type {Resampler | undefined} */
  #resampler;
  /** @type {Buffer | undefined} */
  #header = Buffer.alloc(0);

  /**
   * The samples that are known now.
   *
   * @param {Uint8Array} piece
   * @returns {Float32Array}
   */
  push(piece) {
    let bytes = piece;
    if (this.#header) {
      // The header is read whole before the decoder gets it, since the decoder makes as many channels as it says.
      this.#header = Buffer.concat([this.#header, piece]);
      if (!hasValidHeader(this.#header)) return new Float32Array();
      bytes = this.#header;
      this.#header = undefined;
    }
    const { channelData, sampleRate } = this.#decoder.decode(bytes);
    if (channelData.length === 0) return new Float32Array();
    this.#resampler ??= resamplerFor(sampleRate);
    return this.#resampler.push(mixed(channelData));
  }

  /**
   * The last samples.
   *
   * @returns {Float32Array}
   */
  end() {
    if (!this.#resampler) throw new Error('this is no WAV file, or it has no samples');
    return this.#resampler.end();
  }
}

/**
 * All samples of a file.
 *
 * @param {Uint8Array} file
 * @returns {Float32Array}
 */
export function decode(file) {
  const sound = new Sound();
  const [first, last] = [sound.push(file), sound.end()];
  const samples = new Float32Array(first.length + last.length);
  samples.set(first);
  samples.set(last, first.length);
  return samples;
}

/** @param {number} sampleRate */
function resamplerFor(sampleRate) {
  if (!(sampleRate >= rates[0] && sampleRate <= rates[1]))
    throw new Error(`expected ${rates[0]} to ${rates[1]} samples a second, and the file has ${sampleRate}`);
  return new Resampler(sampleRate, rate);
}

/**
 * The mean of all channels.
 *
 * @param {readonly Float32Array[]} channels
 */
function mixed(channels) {
  const [first = new Float32Array()] = channels;
  return first.map((_, i) => channels.reduce((sum, channel) => sum + channel[i], 0) / channels.length);
}

/**
 * Whether the header has arrived, up to the chunk with the samples.
 *
 * @param {Buffer} bytes
 */
function hasValidHeader(bytes) {
  for (let at = 12; at + 8 <= bytes.length; at += 8 + bytes.readUInt32LE(at + 4)) {
    const name = bytes.toString('latin1', at, at + 4);
    if (name === 'data') return true;
    if (name !== 'fmt ' || at + 12 > bytes.length) continue;
    const channels = bytes.readUInt16LE(at + 10);
    if (channels < 1 || channels > mostChannels)
      throw new Error(`expected 1 to ${mostChannels} channels, and the file has ${channels}`);
  }
  // What is no WAV file has no such chunk, however much of it comes.
  if (bytes.length > longestHeader)
    throw new Error('this is no WAV file: no samples follow its first 64 KiB');
  return false;
}
