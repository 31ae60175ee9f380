/** The two models of the example: a recurrent model in ONNX, and the model that writes with it. */
import { createServer, type InferenceServer, type ModelConfigInput } from '../../src/index.js';
import { reciterModel, unitsOf } from './reciter.js';

/** What the model knows by heart. */
export const lines: readonly string[] = [
  'a sequence keeps its place while others take their turn',
  'each round is one batch, however many callers wait',
  'a letter leaves as soon as it is known',
  'and the last one frees the slot for somebody else',
];

/** Lines that are written at a time. */
export const mostAtATime = 16;

const reciter = (units: number | undefined): ModelConfigInput => ({
  backend: 'onnxruntime',
  max_batch_size: mostAtATime,
  input: [{ name: 'line', data_type: 'TYPE_INT64', dims: [1] }],
  output: [{ name: 'letter', data_type: 'TYPE_INT64', dims: [1] }],
  sequence_batching: {
    oldest: { max_candidate_sequences: mostAtATime },
    control_input: [
      { name: 'start', control: [{ kind: 'CONTROL_SEQUENCE_START', fp32_false_true: [0, 1] }] },
    ],
    state: [
      { input_name: 'here', output_name: 'next', data_type: 'TYPE_FP32', dims: [unitsOf(lines, units)] },
    ],
  },
});

const writer: ModelConfigInput = {
  max_batch_size: mostAtATime,
  input: [{ name: 'line', data_type: 'TYPE_INT64', dims: [1] }],
  output: [{ name: 'letter', data_type: 'TYPE_STRING', dims: [1] }],
  model_transaction_policy: { decoupled: true },
  sequence_batching: { iterative_sequence: true, oldest: { max_candidate_sequences: mostAtATime } },
  parameters: { requires: { string_value: 'reciter' } },
};

/**
 * Serves both.
 *
 * @param units - The units of the recurrent layer; see {@link reciterModel}.
 */
export function serveWriter(units?: number): Promise<InferenceServer> {
  return createServer({
    models: {
      reciter: { config: reciter(units), files: { 'model.onnx': reciterModel(lines, units) } },
      writer: { config: writer, module: new URL('writer.js', import.meta.url) },
    },
  });
}

/** The letters of a line, as they are written. */
export async function* write(server: InferenceServer, line: number): AsyncGenerator<string> {
  for await (const { outputs } of server.stream('writer', {
    line: { data: BigInt64Array.of(BigInt(line)), shape: [1, 1] },
  })) {
    yield outputs['letter']?.strings()[0] ?? '';
  }
}

/** A line, when it is written. */
export async function writeWhole(server: InferenceServer, line: number): Promise<string> {
  let text = '';
  for await (const letter of write(server, line)) text += letter;
  return text;
}
