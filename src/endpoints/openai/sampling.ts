/** The fields of a request that decide how text is generated, shared by chats and completions. */

import { invalidArgument, TritonError } from '../../errors.js';
import { wrongType, type JsonObject } from '../http/json.js';
import {
  flag,
  integer,
  list,
  number,
  object,
  readFields,
  text,
  type FieldReader,
  type FieldReaders,
} from './fields.js';

/** Options of a stream. */
interface StreamOptions {
  readonly include_usage?: boolean | undefined;
}

/** See the head of this file. The names are those of the protocol. */
export interface SamplingFields {
  readonly model?: string | undefined;
  readonly frequency_penalty?: number | undefined;
  readonly ignore_eos?: boolean | undefined;
  readonly logit_bias?: JsonObject | undefined;
  readonly max_tokens?: number | undefined;
  readonly min_tokens?: number | undefined;
  readonly n?: number | undefined;
  readonly presence_penalty?: number | undefined;
  readonly seed?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly stream?: boolean | undefined;
  readonly stream_options?: StreamOptions | undefined;
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly user?: string | undefined;
}

const mostInt32 = 2 ** 31 - 1;
/** JSON's numbers are exact up to here. */
const mostSeed = Number.MAX_SAFE_INTEGER;
/** OpenAI takes 4. The limits bound the search for them in each piece of text. */
const mostStops = 32;
const longestStop = 256;

const oneStop: FieldReader<string> = (path, value) => {
  const read = text(path, value);
  if (read !== '' && read.length <= longestStop) return read;
  throw invalidArgument(`expected 1 to ${longestStop} characters for '${path}' but received ${read.length}`);
};

const stop: FieldReader<readonly string[]> = (path, value) => {
  if (typeof value === 'string') return [oneStop(path, value)];
  if (Array.isArray(value)) return list(0, mostStops, oneStop)(path, value);
  throw wrongType(path, 'a string or an array of strings', value);
};

/** Reads a number of tokens. */
export const tokens: FieldReader<number> = integer(0, mostInt32);

/** The readers of these fields. */
export const samplingReaders: FieldReaders<SamplingFields> = {
  model: text,
  frequency_penalty: number(-2, 2),
  ignore_eos: flag,
  logit_bias: object,
  max_tokens: tokens,
  min_tokens: tokens,
  n: integer(1, 128),
  presence_penalty: number(-2, 2),
  seed: integer(-mostSeed, mostSeed),
  stop,
  stream: flag,
  stream_options: (path, value) => readFields(object(path, value), { include_usage: flag }),
  temperature: number(0, 2),
  top_p: number(0, 1),
  user: text,
};

/** The error for a feature that the front end does not have. */
export function unsupported(message: string): TritonError {
  return new TritonError('UNSUPPORTED', message);
}

/**
 * The name of the model.
 *
 * @throws {@link TritonError} INVALID_ARG if it is missing.
 */
export function modelOf({ model }: { readonly model?: string | undefined }): string {
  if (model === undefined) throw wrongType('model', 'a string', undefined);
  return model;
}

/**
 * Refuses valid fields that have no meaning here.
 *
 * @throws {@link TritonError} UNSUPPORTED for a feature, INVALID_ARG for `stream_options` without a stream.
 */
export function checkSampling({
  n,
  logit_bias: bias,
  stream,
  stream_options: options,
}: SamplingFields): void {
  if (n !== undefined && n > 1)
    throw unsupported(`Received n=${n}, but only single choice (n=1) is currently supported`);
  if (bias !== undefined) throw unsupported('logit bias is not supported');
  if (options !== undefined && stream !== true)
    throw invalidArgument('`stream_options` can only be used when `stream` is True');
}
