/**
 * Models with any number of responses (native/test/support/backends/stream/), which only the tests' build of the
 * addon has. Importing this file selects that build for the process.
 */
import { TritonError, type InferResult, type Inputs } from '../../src/index.js';
import { configText, type ConfigOptions } from '../support/harness.js';
import '../support/fault-addon.js';
import type { RepositoryModel } from '../support/repository.js';

/** How the responses end, by its number in a request, as in `StreamEnd` of the backend's header. */
const ends = ['last', 'apart', 'fails', 'greedy', 'midst', 'open'] as const;

/** How the responses to a request end. */
export type StreamEnd = (typeof ends)[number];

const one = { datatype: 'INT32', dims: [1] } as const;

/** A decoupled model: a request gets `count` responses, the k-th of which has `size` times k in y. */
export function streaming(options: ConfigOptions = {}): RepositoryModel {
  const inputs = [
    { name: 'count', ...one },
    { name: 'how', ...one },
    { name: 'size', ...one },
  ] as const;
  const outputs = [{ name: 'y', datatype: 'INT32', dims: [-1] }] as const;
  const more = `model_transaction_policy { decoupled: true }\n${options.more ?? ''}`;
  const rest = { maxBatchSize: 0, batching: false, inputs, outputs, ...options } as const;
  return { config: configText({ ...rest, more, backend: 'stream' }), versions: { '1': {} } };
}

/** The inputs of a request for `count` responses. */
export function asking(count: number, how: StreamEnd = 'last', size = 1): Inputs {
  return { count: Int32Array.of(count), how: Int32Array.of(ends.indexOf(how)), size: Int32Array.of(size) };
}

/** The first value of a response, which is its number. */
export function numberOf(result: InferResult): number {
  return result.outputs['y']?.as('INT32').data[0] ?? -1;
}

/** The responses' numbers, and the error that came after them. */
export async function readAll(
  stream: AsyncIterable<InferResult>,
): Promise<{ numbers: number[]; error: TritonError | undefined }> {
  const numbers: number[] = [];
  try {
    for await (const result of stream) numbers.push(numberOf(result));
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    return { numbers, error };
  }
  return { numbers, error: undefined };
}

/** The numbers from 0 to below `count`. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
