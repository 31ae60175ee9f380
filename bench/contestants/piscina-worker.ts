/** A worker of the Piscina pool: it has its own session and runs one request at a time. */
import { onnxRuntime, type OrtData, type OrtType } from '../../test/support/onnx/run.js';
import type { Threads } from './contestant.js';
import { openSession } from './session.js';

/** The data that the creator of the pool passes to each worker, as JSON in its arguments. */
export interface WorkerSetup {
  /** Path of the model file. */
  readonly path: string;
  readonly threads?: Threads;
  readonly output: string;
}

/** A request. */
export interface Task {
  readonly input: string;
  readonly type: OrtType;
  readonly data: OrtData;
  readonly dims: readonly number[];
}

// The creator of the pool has written this JSON.
const setup = JSON.parse(process.argv[2] ?? '{}') as WorkerSetup;
const session = await openSession(setup.path, setup.threads);
const { Tensor } = onnxRuntime();

/** Answers a request. The pool calls it. */
export default async function run({ input, type, data, dims }: Task): Promise<OrtData | undefined> {
  const answer = await session.run({ [input]: new Tensor(type, data, dims) });
  return answer[setup.output]?.data;
}
