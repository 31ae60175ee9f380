/** The models of `docs/models.md`. Their configurations are in its text. */

import { optionalInputModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import type { Files } from '../support/repository.js';

/** fahrenheit = 1.8 × celsius + 32: FP32 [N, 1]. */
export function fahrenheitModel(): Uint8Array {
  return graph('fahrenheit')
    .input('celsius', 'FP32', ['N', 1])
    .initializer('factor', 'FP32', [1], [1.8])
    .initializer('offset', 'FP32', [1], [32])
    .node('Mul', ['celsius', 'factor'], ['scaled'])
    .node('Add', ['scaled', 'offset'], ['fahrenheit'])
    .output('fahrenheit', 'FP32', ['N', 1])
    .encode();
}

/** Scores of three moods from counts of four words: FP32 [N, 4] to FP32 [N, 3]. */
export function moodModel(): Uint8Array {
  return graph('mood')
    .input('words', 'FP32', ['N', 4])
    .initializer('weights', 'FP32', [4, 3], [0.9, 0.1, 0, 0.2, 0.8, 0, 0, 0.5, 0.5, 0, 0.1, 0.9])
    .node('MatMul', ['words', 'weights'], ['scores'])
    .output('scores', 'FP32', ['N', 3])
    .encode();
}

/** brightness = the sum of each row of sixteen pixels: FP32 [N, 16] to FP32 [N]. */
function tilesModel(): Uint8Array {
  return graph('tiles')
    .input('pixels', 'FP32', ['N', 16])
    .initializer('axis', 'INT64', [1], [1])
    .node('ReduceSum', ['pixels', 'axis'], ['brightness'], { keepdims: 0 })
    .output('brightness', 'FP32', ['N'])
    .encode();
}

/** The files of the repository in the text, by model, without the configurations. */
export const exampleFiles: Readonly<Record<string, Files>> = {
  fahrenheit: { '1/model.onnx': fahrenheitModel() },
  mood: { '1/model.onnx': moodModel(), 'labels.txt': 'glad\ncalm\ncross\n' },
  tiles: { '1/model.onnx': tilesModel() },
  shift: { '1/model.onnx': optionalInputModel() },
  tuned: { '1/model.onnx': moodModel() },
  warm: {
    '1/model.onnx': moodModel(),
    'warmup/words.bin': new Uint8Array(Float32Array.of(1, 0, 2, 0).buffer),
  },
};
