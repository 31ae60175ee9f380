/** Classifies the pictures of a folder that `train.py` wrote, and asks for each a second time. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { InferenceServer } from '../../src/index.js';

/** The answers for all pictures. */
interface Answers {
  readonly digits: readonly number[];
  /** How many of them came from the response cache. */
  readonly hits: number;
  readonly ms: number;
}

/** The result of {@link classifyTwice}. */
export interface Outcome {
  readonly pictures: number;
  /** How many digits were told right. */
  readonly right: number;
  readonly first: Answers;
  readonly second: Answers;
}

/** Asks for all pictures at once, each in its own request. The server makes batches of them. */
async function classify(server: InferenceServer, files: readonly Buffer[]): Promise<Answers> {
  const begin = performance.now();
  const results = await Promise.all(files.map((file) => server.infer('picture', { file: [[file]] })));
  const ms = performance.now() - begin;
  const digits = results.map(({ outputs }) => {
    const scores = outputs['scores']?.as('FP32').data ?? new Float32Array();
    return scores.indexOf(Math.max(...scores));
  });
  return { digits, hits: results.filter(({ timings }) => timings.cacheHit).length, ms };
}

/** See the head of this file. The server has the folder's models, and a response cache. */
export async function classifyTwice(server: InferenceServer, pictures: string): Promise<Outcome> {
  const names = (await readdir(pictures)).filter((name) => name.endsWith('.jpg')).sort();
  const files = await Promise.all(names.map((name) => readFile(join(pictures, name))));
  const first = await classify(server, files);
  const second = await classify(server, files);
  const labels = names.map((name) => Number(/-(\d)\.jpg$/.exec(name)?.[1]));
  const right = labels.filter((label, i) => label === first.digits[i]).length;
  return { pictures: files.length, right, first, second };
}
