/** Serves the models of the example to OpenAI's clients. */
import { createServer, type InferenceServer, type ModelConfigInput } from '../../src/index.js';
import { serveOpenAI, type OpenAIEndpoint } from '../../src/endpoints/openai/serve.js';
import { lettersModel } from './letters.js';

/** Texts that are written at a time. */
export const mostAtATime = 16;

const letters: ModelConfigInput = {
  backend: 'onnxruntime',
  max_batch_size: mostAtATime,
  dynamic_batching: {},
};

/** The tensors that the front end looks for. */
const text: ModelConfigInput = {
  input: [
    { name: 'text_input', data_type: 'TYPE_STRING', dims: [1] },
    { name: 'stream', data_type: 'TYPE_BOOL', dims: [1] },
    { name: 'sampling_parameters', data_type: 'TYPE_STRING', dims: [1] },
  ],
  output: [
    { name: 'text_output', data_type: 'TYPE_STRING', dims: [1] },
    { name: 'num_input_tokens', data_type: 'TYPE_UINT32', dims: [1] },
    { name: 'num_output_tokens', data_type: 'TYPE_UINT32', dims: [1] },
  ],
  model_transaction_policy: { decoupled: true },
  parameters: { requires: { string_value: 'letters' } },
};

const iterative: ModelConfigInput = {
  ...text,
  max_batch_size: mostAtATime,
  sequence_batching: { iterative_sequence: true, oldest: { max_candidate_sequences: mostAtATime } },
};

/** What the model gets of a chat: these models know nothing but pages, so a chat goes on as one. */
const chatTemplate = '{% for message in messages %}{{ message.content }}\n\n{% endfor %}';

/** A server and its endpoint. */
export interface Writers {
  readonly server: InferenceServer;
  readonly endpoint: OpenAIEndpoint;
}

/**
 * Serves both models that write: `writer`, and `iterative-writer`.
 *
 * @param port - 0: any free port.
 */
export async function serveWriters(port: number): Promise<Writers> {
  const server = await createServer({
    models: {
      letters: { config: letters, files: { 'model.onnx': lettersModel() } },
      writer: { config: text, module: new URL('writer.js', import.meta.url) },
      'iterative-writer': { config: iterative, module: new URL('iterative-writer.js', import.meta.url) },
    },
  });
  return { server, endpoint: await serveOpenAI(server, { port, chatTemplate }) };
}
