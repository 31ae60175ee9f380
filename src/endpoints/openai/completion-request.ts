/** Reads the body of a completion. */

import { invalidArgument } from '../../errors.js';
import { wrongType } from '../http/json.js';
import { flag, integer, readBody, readFields, text, type FieldReader, type FieldReaders } from './fields.js';
import { checkSampling, modelOf, samplingReaders, unsupported, type SamplingFields } from './sampling.js';

/** A prompt: a text, or an array that is not supported. */
type Prompt = string | readonly unknown[];

interface CompletionFields extends SamplingFields {
  readonly prompt?: Prompt | undefined;
  readonly best_of?: number | undefined;
  readonly echo?: boolean | undefined;
  readonly logprobs?: number | undefined;
  readonly suffix?: string | undefined;
}

const prompt: FieldReader<Prompt> = (path, value) => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value as readonly unknown[];
  throw wrongType(path, 'a string', value);
};

const readers: FieldReaders<CompletionFields> = {
  ...samplingReaders,
  prompt,
  best_of: integer(0, 20),
  echo: flag,
  logprobs: integer(0, 5),
  suffix: text,
};

/** A completion to make. */
export interface CompletionRequest {
  readonly model: string;
  readonly prompt: Prompt;
  readonly echo: boolean;
  readonly fields: CompletionFields;
}

/** @throws {@link TritonError} INVALID_ARG for a body that is not JSON, and for unknown, missing and wrong fields. */
export function readCompletion(body: Buffer): CompletionRequest {
  const fields = readFields(readBody(body), readers);
  if (fields.prompt === undefined) throw wrongType('prompt', 'a string', undefined);
  return { model: modelOf(fields), prompt: fields.prompt, echo: fields.echo ?? false, fields };
}

/**
 * The prompt of a completion whose fields all have a meaning here.
 *
 * @throws {@link TritonError} As {@link checkSampling}; INVALID_ARG for an empty prompt.
 */
export function checkCompletion({ prompt: given, fields }: CompletionRequest): string {
  if (fields.suffix !== undefined) throw unsupported('suffix is not supported');
  if (given.length === 0) throw invalidArgument('prompt must be non-empty');
  if (typeof given !== 'string') throw unsupported('only single string input is supported');
  if (fields.best_of !== undefined && fields.best_of > 1) {
    throw unsupported(
      `Received best_of=${fields.best_of}, but only single choice (best_of=1) is currently supported`,
    );
  }
  if (fields.logprobs !== undefined && fields.logprobs > 0) throw unsupported('logprobs are not supported');
  checkSampling(fields);
  return given;
}
