/**
 * Three ways to ask a model for the digit on an image: with tritonts, and two with onnxruntime-node alone.
 */
import { fileURLToPath } from 'node:url';
import { HandBatcher } from '../../bench/contestants/by-hand.js';
import { openSession } from '../../bench/contestants/session.js';
import { median } from '../../bench/reports/statistics.js';
import type { Model } from '../../src/index.js';
import { onnxRuntime } from '../../test/support/onnx/run.js';
import { bestClass, modelRepository, type Digit } from './data.js';

/** How long runs of the model alone are timed. */
const timedMs = 100;

/** Something that can be asked for the digit on an image. */
export interface Classifier {
  readonly name: string;
  classify(digit: Digit): Promise<number>;
}

/** Classifiers that have to be closed. */
export interface OpenClassifiers {
  readonly classifiers: readonly Classifier[];
  /** Milliseconds that the runtime takes for these images in one run, without anything around it. */
  modelTime(digits: readonly Digit[]): Promise<number>;
  close(): Promise<void>;
}

/** A model of a tritonts server: one `infer` for each image. */
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
 * Two classifiers with onnxruntime-node and the same model file: one run for each image, and batches made by
 * hand.
 *
 * @param threads - Number of threads of a run.
 * @param maxBatchSize - Largest batch that is made by hand.
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
    modelTime: async (digits) => {
      const images = Float32Array.from(digits.flatMap(({ pixels }) => [...pixels]));
      const batch = { image: new Tensor('float32', images, [digits.length, 64]) };
      const times: number[] = [];
      const end = performance.now() + timedMs;
      for (let now = performance.now(); now < end || times.length < 3;) {
        await session.run(batch);
        const then = now;
        now = performance.now();
        times.push(now - then);
      }
      return median(times);
    },
    close: () => session.release(),
  };
}
