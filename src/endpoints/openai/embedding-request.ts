/** Reads the body of a request for embeddings. */

import { wrongType } from '../http/json.js';
import {
  choice,
  integer,
  list,
  readBody,
  readFields,
  text,
  type FieldReader,
  type FieldReaders,
} from './fields.js';
import { modelOf } from './sampling.js';

/** A text, or a text in tokens. */
export type EmbeddingInput = string | readonly number[];

interface EmbeddingFields {
  readonly model?: string | undefined;
  readonly input?: readonly EmbeddingInput[] | undefined;
  readonly dimensions?: number | undefined;
  readonly encoding_format?: 'float' | 'base64' | undefined;
  readonly user?: string | undefined;
}

/** OpenAI's limits. */
const mostInputs = 2048;
const mostTokens = 1 << 16;
const mostDimensions = 1 << 20;

const tokenList: FieldReader<readonly number[]> = list(1, mostTokens, integer(0, 2 ** 31 - 1));

const oneInput: FieldReader<EmbeddingInput> = (path, value) => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return tokenList(path, value);
  throw wrongType(path, 'a string or an array of tokens', value);
};

const input: FieldReader<readonly EmbeddingInput[]> = (path, value) => {
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) throw wrongType(path, 'a string or an array', value);
  if (typeof value[0] === 'number') return [tokenList(path, value)];
  return list(1, mostInputs, oneInput)(path, value);
};

const readers: FieldReaders<EmbeddingFields> = {
  model: text,
  input,
  dimensions: integer(1, mostDimensions),
  encoding_format: choice('float', 'base64'),
  user: text,
};

/** Embeddings to make. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly inputs: readonly EmbeddingInput[];
  readonly dimensions: number | undefined;
  readonly base64: boolean;
}

/** @throws {@link TritonError} INVALID_ARG for a body that is not JSON, and for unknown, missing and wrong fields. */
export function readEmbeddings(body: Buffer): EmbeddingRequest {
  const fields = readFields(readBody(body), readers);
  if (fields.input === undefined) throw wrongType('input', 'a string or an array', undefined);
  return {
    model: modelOf(fields),
    inputs: fields.input,
    dimensions: fields.dimensions,
    base64: fields.encoding_format === 'base64',
  };
}
