/** Sessions of onnxruntime-node with the threads that a benchmark sets. */
import { onnxRuntime, type OrtSession, type OrtSessionOptions } from '../../test/support/onnx/run.js';
import type { Threads } from './contestant.js';

/** Session options, with entries that the tests do not use. */
export interface SessionOptions extends OrtSessionOptions {
  /** Session configuration of the runtime. Nested keys are joined with dots. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Options for a number of threads that sleep while they wait, or no options for the package's defaults. */
export function sessionOptions(threads: Threads): SessionOptions {
  if (threads === undefined) return {};
  return {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  };
}

/** Loads a model file. */
export function openSession(path: string, threads: Threads): Promise<OrtSession> {
  return onnxRuntime().InferenceSession.create(path, sessionOptions(threads));
}
