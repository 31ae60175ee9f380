/** The text of a model's responses, up to the end that the client has asked for. */

import { TritonError } from '../../errors.js';
import type { InferResult } from '../../api/results.js';
import { StopFilter } from './stop-filter.js';
import { UsageCounter, type Usage } from './usage.js';

/** Why a text has ended. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

const reasons: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter'];

/** What a generation gets besides the responses. */
export interface GenerationOptions {
  readonly model: string;
  readonly stops: readonly string[];
  readonly maxTokens: number;
  /** Told of each response. */
  readonly onResponse: () => void;
}

/** See the head of this file. */
export class Generation {
  readonly #responses: AsyncIterableIterator<InferResult>;
  readonly #options: GenerationOptions;
  readonly #counter: UsageCounter = new UsageCounter();
  #reason: FinishReason | undefined;
  #count = 0;

  constructor(responses: AsyncIterableIterator<InferResult>, options: GenerationOptions) {
    this.#responses = responses;
    this.#options = options;
  }

  /** How many responses the model has sent so far. */
  get responses(): number {
    return this.#count;
  }

  /** The usage so far; null if the model does not tell. */
  get usage(): Usage | null {
    return this.#counter.usage;
  }

  /** Why the text has ended. It is known at its end. */
  get finishReason(): FinishReason {
    if (this.#reason !== undefined) return this.#reason;
    const { completion } = this.#counter;
    return completion !== undefined && completion >= this.#options.maxTokens ? 'length' : 'stop';
  }

  /**
   * The pieces of the text, none of them empty. At a stop sequence, and at the limit of tokens, the request is
   * cancelled. Ending the iterator early cancels it, too.
   *
   * @throws {@link TritonError} Any code, if the model fails; INTERNAL for responses that are not text.
   */
  async *pieces(): AsyncGenerator<string, void, undefined> {
    const { stops, maxTokens, onResponse } = this.#options;
    const filter = new StopFilter(stops);
    // A character may lie across the border of two responses. U+FEFF is a character as others are.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    for await (const response of this.#responses) {
      this.#count++;
      onResponse();
      const bytes = this.#bytesOf(response, 'text_output');
      // A model that does not know the limit goes on after it. What it then says is neither sent nor counted.
      if (bytes !== undefined && bytes.length > 0 && (this.#counter.completion ?? 0) >= maxTokens) {
        this.#counter.add(response, false);
        this.#reason = 'length';
        break;
      }
      this.#counter.add(response);
      this.#noteReason(response);
      const piece = filter.add(decoder.decode(bytes, { stream: true }));
      if (piece !== '') yield piece;
      if (filter.stopped) {
        this.#reason = 'stop';
        return;
      }
    }
    const rest = filter.add(decoder.decode()) + filter.end();
    if (filter.stopped) this.#reason = 'stop';
    if (rest !== '') yield rest;
  }

  #noteReason(response: InferResult): void {
    const told = this.#bytesOf(response, 'finish_reason')?.toString();
    this.#reason = reasons.find((reason) => reason === told) ?? this.#reason;
  }

  /** The only element of an output; undefined if the response has none. */
  #bytesOf({ outputs }: InferResult, name: string): Buffer | undefined {
    const tensor = outputs[name];
    if (tensor === undefined) return undefined;
    const { model } = this.#options;
    if (tensor.datatype !== 'BYTES')
      throw new TritonError('INTERNAL', `model '${model}', output '${name}': expected BYTES`, { model });
    if (tensor.data.length > 1) {
      throw new TritonError(
        'INTERNAL',
        `model '${model}', output '${name}': expected to find 1 string in a response, found ${tensor.data.length} instead`,
        { model },
      );
    }
    return tensor.data[0];
  }
}
