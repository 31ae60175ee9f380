/** What a worker of the Piscina pool does: it has a session of its own and runs one request at a time. */
import { onnxRuntime, type OrtData, type OrtType } from '../../test/support/onnx/run.js';
import type { Threads } from './contestant.js';
import { openSession } from './session.js';

/** What the pool's maker says to each worker, as JSON in its arguments. */
export interface WorkerSetup {
  /** Of the model file. */
  readonly path: string;
  readonly threads?: Threads;
  readonly output: string;
}

/** One request. */
export interface Task {
  readonly input: string;
  readonly type: OrtType;
  readonly data: OrtData;
  readonly dims: readonly number[];
}

// The pool hands over what its maker wrote.
const setup = JSON.parse(process.argv[2] ?? '{}') as WorkerSetup;
const session = await openSession(setup.path, setup.threads);
const { Tensor } = onnxRuntime();

/** Answers one request; called by the pool. */
export default async function run({ input, type, data, dims }: Task): Promise<OrtData | undefined> {
  const answer = await session.run({ [input]: new Tensor(type, data, dims) });
  return answer[setup.output]?.data;
}
