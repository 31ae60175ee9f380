/** Helpers of the tests of the front end for OpenAI's clients: endpoints, clients, and models that generate text. */

import OpenAI from 'openai';
import type { InferenceServer } from '../../../src/index.js';
import {
  serveOpenAI,
  type OpenAIEndpoint,
  type ServeOpenAIOptions,
} from '../../../src/endpoints/openai/serve.js';
import { executing, script } from '../../javascript/harness.js';
import type { ConfigOptions, Context, TensorText } from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';

/** An endpoint of a server, which is closed after the test. */
export async function endpointOf(
  t: Context,
  server: InferenceServer,
  options: ServeOpenAIOptions = {},
): Promise<OpenAIEndpoint> {
  const endpoint = await serveOpenAI(server, { port: 0, ...options });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  return endpoint;
}

/** OpenAI's client. It sends each request once. */
export function clientOf({ address: { host, port } }: OpenAIEndpoint, apiKey = 'none'): OpenAI {
  return new OpenAI({ baseURL: `http://${host}:${port}/v1`, apiKey, maxRetries: 0 });
}

/** A tensor of one element. */
function one(name: string, datatype: NonNullable<TensorText['datatype']>): TensorText {
  return { name, datatype, dims: [1] };
}

/** The tensors of models that generate text, as Triton's backend for vLLM has them. */
export const textTensors: Required<
  Pick<ConfigOptions, 'maxBatchSize' | 'batching' | 'inputs' | 'outputs' | 'more'>
> = {
  maxBatchSize: 0,
  batching: false,
  inputs: [one('text_input', 'BYTES'), one('stream', 'BOOL'), one('sampling_parameters', 'BYTES')],
  outputs: [one('text_output', 'BYTES')],
  more: 'model_transaction_policy { decoupled: true }',
};

/** The same of a model that is not told whether its text is to come in pieces. */
export const untoldTensors: ConfigOptions = { ...textTensors, inputs: textTensors.inputs.slice(0, 1) };

/** The same with counts of tokens. */
export const countedTensors: ConfigOptions = {
  ...textTensors,
  outputs: [...textTensors.outputs, one('num_input_tokens', 'UINT32'), one('num_output_tokens', 'UINT32')],
};

/** A model with this body of a generator, which sees `prompt`, `stream`, `sampling` and the inputs. */
export function generating(
  body: string,
  options: ConfigOptions = textTensors,
  files: Readonly<Record<string, string>> = {},
): RepositoryModel {
  const model = script(
    executing(`return requests.map(async function* ({ inputs }) {
      const prompt = inputs.text_input.strings()[0];
      const stream = inputs.stream?.data[0] === 1;
      const sampling = inputs.sampling_parameters && JSON.parse(inputs.sampling_parameters.strings()[0]);
      ${body}
    });`),
    options,
  );
  return { ...model, files };
}

/** Counts: as many words as tokens are wanted, each a token. */
export const counting: RepositoryModel = generating(
  `const words = Array.from({ length: sampling.max_tokens }, (_, i) => \` w\${i}\`);
   const counts = (of) => ({ num_input_tokens: Uint32Array.of(prompt.split(' ').length), num_output_tokens: Uint32Array.of(of) });
   if (!stream) yield { text_output: [words.join('')], ...counts(words.length) };
   else for (const word of words) yield { text_output: [word], ...counts(1) };`,
  countedTensors,
);

/** Gives the prompt back, with all that it was told. */
export const telling: RepositoryModel = generating(
  `yield { text_output: [JSON.stringify({ prompt, stream, sampling })] };`,
  textTensors,
  {
    'chat_template.jinja':
      "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{{ 'assistant:' }}",
  },
);

/** Sends these pieces, also if the client wants no stream. */
export function pieces(...all: readonly string[]): RepositoryModel {
  return generating(
    `for (const piece of ${JSON.stringify(all)}) yield { text_output: [piece] };`,
    untoldTensors,
  );
}

/** A row for each text: its length, a third, and a small number. */
export const embedding: RepositoryModel = script(
  executing(
    `return requests.map(({ inputs }) => ({ vector: Float32Array.from(inputs.words.strings().flatMap(({ length }) => [length, 1 / 3, 1e-7])) }));`,
  ),
  {
    maxBatchSize: 4,
    inputs: [{ name: 'words', datatype: 'BYTES', dims: [1] }],
    outputs: [{ name: 'vector', datatype: 'FP32', dims: [3] }],
  },
);
