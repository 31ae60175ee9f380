/** Two ways to ask for the language of a text: the ensemble, and the same code on the thread that asks. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openSession } from '../../bench/contestants/session.js';
import type { Model } from '../../src/index.js';
import { onnxRuntime } from '../../test/support/onnx/run.js';
import type { Contestant } from '../digits/compare.js';
import type { Text } from './data.js';
import { modelRepository } from './folder.js';
import type { Tokenizer } from './tokenizer.js';

/** The ensemble: one `infer` for each text. */
export function served(model: Model): Contestant<Text, string> {
  return {
    name: 'tritonts',
    classify: async ({ text }) => {
      const { outputs } = await model.infer({ text: [text] });
      return outputs.label?.strings()[0] ?? '';
    },
  };
}

/** A way that has to be closed. */
export interface Direct extends Contestant<Text, string> {
  close(): Promise<void>;
}

/**
 * The tokenizer called directly, and the classifier in onnxruntime-node: one run for each text.
 *
 * @param threads - Number of threads of a run.
 */
export async function onThisThread(tokenizer: Tokenizer, threads: number): Promise<Direct> {
  const path = fileURLToPath(new URL('classify/1/model.onnx', modelRepository));
  const labels = readFileSync(new URL('label/1/labels.txt', modelRepository), 'utf8').trimEnd().split('\n');
  const session = await openSession(path, threads);
  const { Tensor } = onnxRuntime();
  return {
    name: 'tokenizer and onnxruntime-node',
    classify: async ({ text }) => {
      const { ids } = tokenizer.encode(text);
      const dims = [1, ids.length];
      const { probabilities } = await session.run({
        input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), dims),
        attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), dims),
      });
      if (!(probabilities?.data instanceof Float32Array)) throw new TypeError('expected float32');
      return labels[probabilities.data.indexOf(Math.max(...probabilities.data))] ?? '';
    },
    close: () => session.release(),
  };
}
