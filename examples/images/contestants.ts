/** Two ways to ask for the digit on a picture: the ensemble, and the same code on the thread that asks. */
import { fileURLToPath } from 'node:url';
import { openSession } from '../../bench/contestants/session.js';
import type { Model } from '../../src/index.js';
import { onnxRuntime } from '../../test/support/onnx/run.js';
import type { Contestant } from '../digits/compare.js';
import { bestClass, modelRepository } from '../digits/data.js';
import { decoder } from './folder.js';

/** A JPEG file, and the digit on it. */
export interface Picture {
  readonly jpeg: Buffer;
  readonly label: number;
}

/** The ensemble: one `infer` for each picture. */
export function served(model: Model): Contestant<Picture, number> {
  const best = { outputs: [{ name: 'scores', classification: 1 }] };
  return {
    name: 'tritonts',
    classify: async ({ jpeg }) => {
      const { outputs } = await model.infer({ jpeg: [[jpeg]] }, best);
      return Number(outputs.scores?.strings()[0]?.split(':')[1]);
    },
  };
}

/** A way that has to be closed. */
export interface Direct extends Contestant<Picture, number> {
  close(): Promise<void>;
}

/**
 * The function of the model `decode` called directly, which calls sharp, and the convolutions in
 * onnxruntime-node: one run for each picture.
 *
 * @param threads - Number of threads of a run.
 */
export async function onThisThread(threads: number): Promise<Direct> {
  // The model is JavaScript, whose imports have no types.
  const model = (await import(decoder.href)) as { decode(file: Buffer): Promise<Float32Array> };
  const path = fileURLToPath(new URL('digits_conv/1/model.onnx', modelRepository));
  const session = await openSession(path, threads);
  const { Tensor } = onnxRuntime();
  return {
    name: 'sharp and onnxruntime-node',
    classify: async ({ jpeg }) => {
      const { scores } = await session.run({
        image: new Tensor('float32', await model.decode(jpeg), [1, 64]),
      });
      if (!(scores?.data instanceof Float32Array)) throw new TypeError('expected float32');
      return bestClass(scores.data);
    },
    close: () => session.release(),
  };
}
