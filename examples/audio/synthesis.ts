/** Makes sounds of telephone keys, and WAV files of them. */

/** The frequencies of the rows and of the columns of keys, in Hz: a key is one of each. */
export const rows: readonly number[] = [697, 770, 852, 941];
export const columns: readonly number[] = [1209, 1336, 1477, 1633];

/** The keys, row by row: the order of the classifier's scores. */
export const keys = '123A456B789C*0#D';

/** How a sound is made. */
export interface Sound {
  /** Samples a second. */
  readonly rate: number;
  /** How long each key sounds, and how long the silence after it is, in seconds. */
  readonly on: number;
  readonly off: number;
  /** How loud a key is: the amplitude of each of its two tones, at most 0.5. */
  readonly level: number;
  /** How loud the noise is: its largest amplitude. */
  readonly noise: number;
  /** Numbers from 0 to 1 for the noise and the phases. */
  readonly random: () => number;
}

/** The samples of some keys, one after another, with silence before the first one. */
export function dialled(text: string, { rate, on, off, level, noise, random }: Sound): Float32Array {
  const samples = new Float32Array(Math.round(rate * (off + text.length * (on + off))));
  for (const [i, key] of Array.from(text).entries()) {
    const index = keys.indexOf(key);
    if (index < 0) throw new RangeError(`expected one of ${keys} but received '${key}'`);
    const [row = 0, column = 0] = [rows[Math.floor(index / 4)], columns[index % 4]];
    const begin = Math.round(rate * (off + i * (on + off)));
    addTone(samples, row / rate, level, random(), begin, Math.round(rate * on));
    addTone(samples, column / rate, level, random(), begin, Math.round(rate * on));
  }
  return samples.map((sample) => sample + noise * (2 * random() - 1));
}

/**
 * Adds a sine.
 *
 * @param frequency - In periods a sample.
 * @param phase - Where it begins, in periods.
 */
export function addTone(
  samples: Float32Array,
  frequency: number,
  level: number,
  phase: number,
  begin = 0,
  length: number = samples.length,
): void {
  for (let i = 0; i < length; i++)
    samples[begin + i] = (samples[begin + i] ?? 0) + level * Math.sin(2 * Math.PI * (frequency * i + phase));
}

/** How a WAV file has its samples: the tag of the format, the bits of a sample, and how to write one. */
interface Format {
  readonly tag: number;
  readonly bits: number;
  readonly write: (bytes: Buffer, value: number, at: number) => void;
}

const pcm16: Format = {
  tag: 1,
  bits: 16,
  write: (bytes, value, at) => bytes.writeInt16LE(Math.round(32_767 * value), at),
};
const float: Format = { tag: 3, bits: 32, write: (bytes, value, at) => bytes.writeFloatLE(value, at) };
const formats: { readonly pcm16: Format; readonly float: Format } = { pcm16, float };

/** A WAV file. All channels have the same samples. */
export function wavFile(
  samples: Float32Array,
  rate: number,
  {
    channels = 1,
    format = 'pcm16',
  }: { readonly channels?: number; readonly format?: keyof typeof formats } = {},
): Buffer {
  const { tag, bits, write } = formats[format];
  const block = (channels * bits) / 8;
  const file = Buffer.alloc(44 + samples.length * block);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(tag, 20);
  file.writeUInt16LE(channels, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate * block, 28);
  file.writeUInt16LE(block, 32);
  file.writeUInt16LE(bits, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(samples.length * block, 40);
  for (const [i, sample] of samples.entries())
    for (let channel = 0; channel < channels; channel++)
      write(file, sample, 44 + i * block + (channel * bits) / 8);
  return file;
}
