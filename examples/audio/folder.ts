/** Where the models of this example are, and their JavaScript outside of them. The compiled file lies in `dist/examples/audio`. */
import { optionalPackage } from '../../test/support/optional.js';

/** The model repository. */
export const modelRepository: URL = new URL('../../../examples/audio/models/', import.meta.url);

/** The recording that the programs read if none is named. */
export const recording: URL = new URL('../../../examples/audio/recordings/call.wav', import.meta.url);

/** Changes the sampling rate of a sound that arrives in pieces. */
export interface Resampler {
  push(samples: Float32Array): Float32Array;
  end(): Float32Array;
}

/** The keys that scores tell. */
export interface Keypad {
  push(scores: Float32Array): string;
}

/** What the example's JavaScript exports, as far as it is used outside of the models. */
export interface AudioCode {
  readonly decode: (file: Uint8Array) => Float32Array;
  readonly Resampler: new (from: number, to: number) => Resampler;
  readonly Keypad: new () => Keypad;
  readonly keysOf: (model: unknown, pieces: AsyncIterable<Uint8Array>) => AsyncGenerator<string, void, void>;
}

/** The code of the models; undefined where `@audio/decode-wav` is not installed. */
export async function audioCode(): Promise<AudioCode | undefined> {
  if ((await optionalPackage('@audio/decode-wav')) === undefined) return undefined;
  const files = ['decode/1/sound.mjs', 'decode/1/resample.mjs', 'keys/1/keypad.mjs', '../listener.mjs'];
  const modules = await Promise.all(
    files.map((file) => import(new URL(file, modelRepository).href) as Promise<Partial<AudioCode>>),
  );
  // The modules are JavaScript. The interface says what they export.
  return Object.assign({}, ...modules) as AudioCode;
}
