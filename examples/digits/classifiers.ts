/** Three ways to ask a model for the digit on an image: ours, and two with onnxruntime-node alone. */
import { fileURLToPath } from 'node:url';
import { HandBatcher } from '../../bench/contestants/by-hand.js';
import { openSession } from '../../bench/contestants/session.js';
import type { Model } from '../../src/index.js';
import { onnxRuntime } from '../../test/support/onnx/run.js';
import { bestClass, modelRepository, type Digit } from './data.js';

/** Something that can be asked for the digit on an image. */
export interface Classifier {
  readonly name: string;
  classify(digit: Digit): Promise<number>;
}

/** Classifiers that have something to release. */
export interface OpenClassifiers {
  readonly classifiers: readonly Classifier[];
  close(): Promise<void>;
}

/** A model of a tritonts server: one `infer` an image. */
export function served(model: Model): Classifier {
  return {
    name: 'tritonts',
    classify: async ({ pixels }) => {
      const { outputs } = await model.infer({ image: pixels });
      return bestClass(outputs.scores?.as('FP32').data ?? new Float32Array());
    },
  };
}

/**
 * onnxruntime-node with the same model file: called once an image, and in batches that are made by hand.
 *
 * @param threads - Threads of a run.
 * @param maxBatchSize - Of the batches made by hand.
 */
export async function withoutServer(
  name: string,
  threads: number,
  maxBatchSize: number,
): Promise<OpenClassifiers> {
  const session = await openSession(fileURLToPath(new URL(`${name}/1/model.onnx`, modelRepository)), threads);
  const { Tensor } = onnxRuntime();
  const tensors = { input: 'image', output: 'scores', type: 'float32', itemDims: [64] } as const;
  const batcher = new HandBatcher<Float32Array>(
    session,
    tensors,
    maxBatchSize,
    (length) => new Float32Array(length),
  );
  return {
    classifiers: [
      {
        name: 'onnxruntime-node, direct',
        classify: async ({ pixels }) => {
          const { scores } = await session.run({ image: new Tensor('float32', pixels, [1, 64]) });
          return scores?.data instanceof Float32Array ? bestClass(scores.data) : NaN;
        },
      },
      {
        name: 'onnxruntime-node, batched by hand',
        classify: async ({ pixels }) => bestClass(await batcher.infer(pixels)),
      },
    ],
    close: () => session.release(),
  };
}
