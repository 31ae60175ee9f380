/** Asks a model for embeddings: rows of FP32, or a list in JSON as Triton's backend for vLLM gives it. */

import { TritonError } from '../../errors.js';
import type { ModelMetadata, TensorMetadata } from '../../api/metadata.js';
import type { InferResult } from '../../api/results.js';
import type { ModelConfig } from '../../config/index.js';
import type { Inputs } from '../../tensor/inputs.js';
import { thrownText } from '../../thrown-text.js';
import type { EmbeddingInput } from './embedding-request.js';
import { unsupported } from './sampling.js';
import { tensorOf } from './tensor-of-elements.js';

/** A way to ask a model for embeddings. */
export interface EmbeddingModel {
  /** How many inputs a request may have. */
  readonly mostInputs: number;
  /** How many requests may wait in the model's queue; Infinity: any number. */
  readonly queueSize: number;
  /**
   * The tensors of a request.
   *
   * @throws {@link TritonError} UNSUPPORTED for inputs that the model does not take.
   */
  inputs(texts: readonly EmbeddingInput[]): Inputs;
  /**
   * The embeddings of a request, in the order of its inputs.
   *
   * @throws {@link TritonError} INTERNAL for outputs of another form, UNSUPPORTED for other dimensions than are asked for.
   */
  rows(result: InferResult, count: number): Float32Array[];
}

/** The input of Triton's backend for vLLM. */
const vllmInput = 'embedding_request';

/** The only one, or the one of this name. */
function chosen(
  tensors: readonly TensorMetadata[],
  datatype: string,
  name: string,
): TensorMetadata | undefined {
  const fitting = tensors.filter((tensor) => tensor.datatype === datatype);
  return fitting.find((tensor) => tensor.name === name) ?? (fitting.length === 1 ? fitting[0] : undefined);
}

/**
 * How to ask a model.
 *
 * @param dimensions - The length of the rows; undefined: the model's own.
 * @throws {@link TritonError} UNSUPPORTED for a model without embeddings.
 */
export function embeddingModel(
  metadata: ModelMetadata,
  config: ModelConfig,
  dimensions: number | undefined,
): EmbeddingModel {
  const { name, inputs, outputs } = metadata;
  if (inputs.some((input) => input.name === vllmInput)) return vllmModel(metadata, config, dimensions);
  const input = chosen(inputs, 'BYTES', 'text_input');
  const output = chosen(outputs, 'FP32', 'embedding');
  if (input === undefined || output === undefined) {
    throw unsupported(
      `model '${name}' makes no embeddings: that needs an input of TYPE_STRING ('text_input' if there are several) and an output of TYPE_FP32 ('embedding' if there are several)`,
    );
  }
  const batches = config.max_batch_size > 0;
  return {
    mostInputs: batches ? config.max_batch_size : 1,
    queueSize: queueSizeOf(config),
    inputs(texts) {
      if (texts.some((text) => typeof text !== 'string'))
        throw unsupported(`model '${name}' takes texts: input as tokens is not supported`);
      return { [input.name]: tensorOf(name, input, texts, batches ? texts.length : undefined) };
    },
    rows({ outputs: results }, count) {
      const tensor = results[output.name];
      const data = tensor?.datatype === 'FP32' ? tensor.data : undefined;
      const length = (data?.length ?? 0) / count;
      if (data === undefined || tensor === undefined || length === 0 || tensor.shape.at(-1) !== length) {
        const shape = tensor === undefined ? 'nothing' : `shape [${tensor.shape.join(',')}]`;
        throw internal(
          name,
          `output '${output.name}': expected a row for each of ${count} texts but it is ${shape}`,
        );
      }
      checkDimensions(name, length, dimensions);
      return Array.from({ length: count }, (_, i) => data.subarray(i * length, (i + 1) * length));
    },
  };
}

function checkDimensions(model: string, length: number, dimensions: number | undefined): void {
  if (dimensions === undefined || dimensions === length) return;
  throw unsupported(`model '${model}': expected its own ${length} dimensions but received ${dimensions}`);
}

function internal(model: string, text: string, cause?: unknown): TritonError {
  return new TritonError('INTERNAL', `model '${model}', ${text}`, { model, cause });
}

/** The size of the queue for requests without a priority. */
function queueSizeOf({ dynamic_batching: batching }: ModelConfig): number {
  if (batching === undefined) return Infinity;
  const own = batching.priority_queue_policy[batching.default_priority_level];
  const { max_queue_size: most = 0 } = own ?? batching.default_queue_policy ?? {};
  return most === 0 ? Infinity : most;
}

function vllmModel(
  { name, inputs }: ModelMetadata,
  config: ModelConfig,
  dimensions: number | undefined,
): EmbeddingModel {
  // The elements of a batch of 1.
  const rows = config.max_batch_size > 0 ? 1 : undefined;
  return {
    mostInputs: 1,
    queueSize: queueSizeOf(config),
    inputs([input]) {
      const pooling = dimensions === undefined ? {} : { dimensions: [dimensions] };
      const request = JSON.stringify({ input, pooling_params: pooling });
      return Object.fromEntries(
        inputs.flatMap((tensor) => {
          if (tensor.name === vllmInput) return [[tensor.name, tensorOf(name, tensor, [request], rows)]];
          return /^return_num_(input|output)_tokens$/.test(tensor.name)
            ? [[tensor.name, tensorOf(name, tensor, [true], rows)]]
            : [];
        }),
      );
    },
    rows({ outputs }) {
      const tensor = outputs['text_output'];
      if (tensor?.datatype !== 'BYTES' || tensor.data.length !== 1)
        throw internal(name, "output 'text_output': expected one string");
      let list: unknown;
      try {
        list = JSON.parse(String(tensor.data[0]));
      } catch (error) {
        throw internal(name, `output 'text_output': expected JSON: ${thrownText(error)}`, error);
      }
      if (!Array.isArray(list) || !list.every((value) => typeof value === 'number'))
        throw internal(name, "output 'text_output': expected a list of numbers in JSON");
      return [Float32Array.from(list)];
    },
  };
}
