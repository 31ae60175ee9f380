/** onnxruntime-node as its documentation shows it: one `run` for each request, on the main thread. */
import { onnxRuntime, type OrtSession, type OrtTensor, type OrtType } from '../../test/support/onnx/run.js';
import { passAs, takeFrom } from '../measuring/literals.js';
import type { Caller } from './contestant.js';

/** The one input and one output of a session. */
export interface Tensors {
  readonly input: string;
  readonly output: string;
  readonly type: OrtType;
  /** Dims of one item, without the batch. */
  readonly itemDims: readonly number[];
}

/** Makes a contestant that asks a session for one item at a time. Its creator closes the session. */
export function openDirect(
  session: OrtSession,
  tensors: Tensors,
  items: readonly (Float32Array | BigInt64Array)[],
): Caller {
  const { Tensor } = onnxRuntime();
  const { type, itemDims } = tensors;
  const dims = [1, ...itemDims];
  const pass = passAs<OrtTensor>(tensors.input);
  const take = takeFrom<OrtTensor>(tensors.output);
  return {
    kind: 'caller',
    name: 'onnxruntime-node',
    infer: (index) =>
      session.run(pass(new Tensor(type, items[index % items.length] ?? new Float32Array(), dims))),
    // run() returned it, for a model with an FP32 output.
    read: (answer) => take(answer as Record<string, OrtTensor>)?.data as Float32Array,
    close: () => Promise.resolve(),
  };
}
