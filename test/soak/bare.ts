/**
 * The bare runtime's part of the leak check: creates, runs and releases as many sessions as a cycle with
 * tritonts, and prints the trend of its resident size as JSON. The runtime's own memory grows a little for
 * thousands of sessions.
 *
 *     node --expose-gc bare.js <cycles> <warm-up>
 */

import { addModel } from '../support/models.js';
import { onnxRuntime } from '../support/onnx/run.js';
import { sample, type Sample } from './sample.js';
import { trendOf } from './report.js';

/** Number of models in a cycle: `add`, and two versions of `twice`. */
const sessionsACycle = 3;

const [cycles = 0, warmUp = 0] = process.argv.slice(2).map(Number);
const { InferenceSession, Tensor } = onnxRuntime();
const model = addModel();
const begin = performance.now();
const samples: Sample[] = [];
for (let cycle = 1 - warmUp; cycle <= cycles; cycle++) {
  for (let i = 0; i < sessionsACycle; i++) {
    const session = await InferenceSession.create(model, { intraOpNumThreads: 1 });
    await session.run({ x: new Tensor('float32', new Float32Array(16), [1, 16]) });
    await session.release();
  }
  if (cycle > 0 && cycle % Math.ceil(cycles / 100) === 0) samples.push(await sample(cycle, begin));
}
console.log(JSON.stringify(trendOf(samples, 'rss', 1000)));
