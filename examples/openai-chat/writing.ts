/** A text that is being written: what a request has asked for, and how far it is. */
import type { ModelRequest } from '../../src/index.js';
import { letterOf, numbersOf, rowsAfter } from './letters.js';

/** The request's wishes, of those that OpenAI's clients may have. */
interface Sampling {
  readonly max_tokens: number;
  readonly temperature?: number;
  readonly seed?: number;
}

/** A response of a model that writes. A letter is a token. */
export type Written = Readonly<
  Record<'text_output', string[]> & Record<'num_input_tokens' | 'num_output_tokens', Uint32Array>
>;

/** See the head of this file. */
export class Writing {
  readonly stream: boolean;
  readonly #letters: number[];
  readonly #prompt: number;
  readonly #sampling: Sampling;
  #state: number;

  constructor({ inputs }: ModelRequest) {
    this.#letters = numbersOf(inputs['text_input']?.strings()[0] ?? '');
    this.#prompt = this.#letters.length;
    this.stream = inputs['stream']?.as('BOOL').data[0] === 1;
    // The front end writes it.
    this.#sampling = JSON.parse(inputs['sampling_parameters']?.strings()[0] ?? '{}') as Sampling;
    this.#state = this.#sampling.seed ?? Math.floor(Math.random() * 2 ** 31);
  }

  /** Whether as many letters are written as were asked for. */
  get done(): boolean {
    return this.#letters.length - this.#prompt >= this.#sampling.max_tokens;
  }

  /** What the model of letters is asked. */
  get question(): { near: BigInt64Array; far: BigInt64Array } {
    const { near, far } = rowsAfter(this.#letters);
    return { near: BigInt64Array.of(BigInt(near)), far: BigInt64Array.of(BigInt(far)) };
  }

  /** Draws the next letter. */
  add(probabilities: Float32Array): void {
    const { temperature = 1 } = this.#sampling;
    if (temperature === 0) {
      this.#letters.push(probabilities.indexOf(Math.max(...probabilities)));
      return;
    }
    const weights = probabilities.map((share) => share ** (1 / temperature));
    let left = this.#random() * weights.reduce((sum, weight) => sum + weight, 0);
    const found = weights.findIndex((weight) => (left -= weight) < 0);
    this.#letters.push(Math.max(found, 0));
  }

  /** The response with the last letter, or with the whole text. */
  response(last: boolean): Written {
    const letters = this.#letters.slice(last ? -1 : this.#prompt);
    return {
      text_output: [letters.map(letterOf).join('')],
      num_input_tokens: Uint32Array.of(this.#prompt),
      num_output_tokens: Uint32Array.of(letters.length),
    };
  }

  /** A number from 0 to below 1 (mulberry32). The same seed gives the same text. */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let value = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  }
}
