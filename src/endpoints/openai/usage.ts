/** Counts the tokens that a model tells of in its outputs `num_input_tokens` and `num_output_tokens`. */

import type { InferResult } from '../../api/results.js';

/** Usage as the protocol has it. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** See the head of this file. */
export class UsageCounter {
  #prompt: number | undefined;
  #completion: number | undefined;

  /**
   * Adds a response: each tells of the whole prompt, and of the tokens of its own text.
   *
   * @param isSent - Whether its text is sent: else its tokens do not count.
   */
  add({ outputs }: InferResult, isSent = true): void {
    this.#prompt ??= countIn(outputs['num_input_tokens']);
    const more = countIn(outputs['num_output_tokens']);
    if (more !== undefined) this.#completion = (this.#completion ?? 0) + (isSent ? more : 0);
  }

  /** Tokens of the text so far; undefined if the model does not tell. */
  get completion(): number | undefined {
    return this.#completion;
  }

  /** Tokens of the prompt; undefined if the model does not tell. */
  get prompt(): number | undefined {
    return this.#prompt;
  }

  /** The usage; null if the model does not tell of both. */
  get usage(): Usage | null {
    const [prompt, completion] = [this.#prompt, this.#completion];
    if (prompt === undefined || completion === undefined) return null;
    return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  }
}

function countIn(tensor: InferResult['outputs'][string] | undefined): number | undefined {
  if (tensor?.datatype !== 'UINT32' && tensor?.datatype !== 'INT32') return undefined;
  const [count] = tensor.data;
  return count === undefined || count < 0 ? undefined : count;
}
