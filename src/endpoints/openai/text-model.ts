/**
 * Asks a model for text. A model takes the prompt as `text_input` and gives its text as `text_output`. It takes all
 * else by those of the other inputs that it has.
 */

import type { ModelMetadata } from '../../api/metadata.js';
import type { ModelConfig } from '../../config/index.js';
import type { Inputs, TensorInput } from '../../tensor/inputs.js';
import type { SamplingFields } from './sampling.js';
import { unsupported } from './sampling.js';
import { shapeFor, tensorOf } from './tensor-of-elements.js';

/** A prompt, and how it is to be continued. */
export interface TextRequest {
  readonly prompt: string;
  readonly stream: boolean;
  readonly maxTokens: number;
  readonly fields: SamplingFields & { readonly best_of?: number | undefined };
}

/** The fields that `sampling_parameters` has, if the client has given them. */
const samplingNames = [
  'best_of',
  'frequency_penalty',
  'ignore_eos',
  'min_tokens',
  'n',
  'presence_penalty',
  'seed',
  'stop',
  'temperature',
  'top_p',
] as const satisfies readonly (keyof TextRequest['fields'])[];

function samplingText({ fields, maxTokens }: TextRequest): string {
  const given = samplingNames.map((name) => [name, fields[name]] as const);
  return JSON.stringify({ ...Object.fromEntries(given), max_tokens: maxTokens });
}

type Elements = readonly unknown[] | undefined;
const one = (value: unknown): Elements => (value === undefined ? undefined : [value]);
const yes = (): Elements => [true];

/** The elements of each input that is known here; undefined: the client gave none. */
const known: ReadonlyMap<string, (request: TextRequest) => Elements> = new Map<
  string,
  (request: TextRequest) => Elements
>([
  ['text_input', ({ prompt }) => [prompt]],
  ['stream', ({ stream }) => [stream]],
  ['sampling_parameters', (request) => [samplingText(request)]],
  // The front end itself puts the prompt in front, if the client wants it.
  ['exclude_input_in_output', yes],
  ['sampling_param_exclude_input_from_output', yes],
  ['return_num_input_tokens', yes],
  ['return_num_output_tokens', yes],
  ['return_finish_reason', yes],
  ['max_tokens', ({ maxTokens }) => [maxTokens]],
  ['min_tokens', ({ fields }) => one(fields.min_tokens)],
  ['stop_words', ({ fields: { stop } }) => (stop?.length === 0 ? undefined : stop)],
  ['temperature', ({ fields }) => one(fields.temperature)],
  ['top_p', ({ fields }) => one(fields.top_p)],
  ['frequency_penalty', ({ fields }) => one(fields.frequency_penalty)],
  ['presence_penalty', ({ fields }) => one(fields.presence_penalty)],
  ['seed', ({ fields }) => one(fields.seed)],
]);

/** What OpenAI takes where a client gives nothing, for inputs that a model insists on. */
const defaults: ReadonlyMap<string, number> = new Map([
  ['temperature', 1],
  ['top_p', 1],
  ['frequency_penalty', 0],
  ['presence_penalty', 0],
  ['min_tokens', 0],
  ['seed', 0],
]);

/** See the head of this file. */
export class TextModel {
  readonly name: string;
  /** Whether the model is told if its text is to come in pieces. */
  readonly takesStream: boolean;
  readonly #metadata: ModelMetadata;
  readonly #config: ModelConfig;

  /** @throws {@link TritonError} UNSUPPORTED for a model that takes no prompt, or gives no text. */
  constructor(metadata: ModelMetadata, config: ModelConfig) {
    const { name, inputs, outputs } = metadata;
    this.name = name;
    this.#metadata = metadata;
    this.#config = config;
    const has = (all: ModelMetadata['inputs'], tensor: string): boolean =>
      all.some((found) => found.name === tensor && found.datatype === 'BYTES');
    if (!has(inputs, 'text_input') || !has(outputs, 'text_output')) {
      throw unsupported(
        `model '${name}' does not generate text: that needs an input 'text_input' and an output 'text_output' of TYPE_STRING`,
      );
    }
    this.takesStream = inputs.some((input) => input.name === 'stream');
  }

  /** @throws {@link TritonError} UNSUPPORTED for an input whose shape does not fit, INVALID_ARG for a wrong value. */
  inputs(request: TextRequest): Inputs {
    const tensors: [string, TensorInput][] = [];
    const rows = this.#config.max_batch_size > 0 ? 1 : undefined;
    for (const input of this.#metadata.inputs) {
      const elements = known.get(input.name)?.(request) ?? this.#default(input.name);
      if (elements === undefined) continue;
      // The front end itself ends the text at stop sequences.
      const mayLack = input.name === 'stop_words' && this.#isOptional(input.name);
      if (mayLack && shapeFor(input, elements.length, rows) === undefined) continue;
      tensors.push([input.name, tensorOf(this.name, input, elements, rows)]);
    }
    return Object.fromEntries(tensors);
  }

  #default(name: string): Elements {
    return this.#isOptional(name) ? undefined : one(defaults.get(name));
  }

  #isOptional(name: string): boolean {
    return this.#config.input.find((input) => input.name === name)?.optional === true;
  }
}
