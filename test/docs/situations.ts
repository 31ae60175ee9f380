/** Situations that lead to the messages which `docs/models.md` explains. */

import type { InferenceServer } from '../../src/index.js';
import { fixedBatchModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import type { RepositoryModel } from '../support/repository.js';
import { moodModel } from './example-models.js';

/** A model, and what happens to it. */
export interface Situation {
  /** The model `mood`. If there is no request, it fails to load. */
  readonly mood: RepositoryModel;
  /** A link in its folder, and its target. */
  readonly link?: readonly [path: string, target: string];
  /** A request that is refused. */
  readonly request?: (server: InferenceServer) => Promise<unknown>;
}

const good = `name: "mood"
backend: "onnxruntime"
max_batch_size: 32
input [ { name: "words" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "scores" data_type: TYPE_FP32 dims: [ 3 ] } ]
`;

/** A model that returns the number of elements of words, which may have any shape. */
function unrankedModel(): Uint8Array {
  return graph('size')
    .input('words', 'FP32')
    .node('Size', ['words'], ['size'])
    .output('size', 'INT64', [])
    .encode();
}

function configured(config: string, model: Uint8Array = moodModel()): Situation {
  return { mood: { config, versions: { '1': model } } };
}

function changed(from: string, to: string, model?: Uint8Array): Situation {
  if (!good.includes(from)) throw new Error(`the configuration has no ${from}`);
  return configured(good.replace(from, to), model);
}

function asked(request: NonNullable<Situation['request']>): Situation {
  return { ...configured(good), request };
}

/** By the name that precedes the message on the page. */
export const situations: Readonly<Record<string, Situation>> = {
  // Faults of files.
  'no-version': { mood: { config: good, files: { 'model.onnx': moodModel() } } },
  'no-backend': { mood: { versions: { '1': { 'mood.onnx': moodModel() } } } },
  'no-file': { mood: { config: good, versions: { '1': { 'mood.onnx': moodModel() } } } },
  'other-name': changed('name: "mood"', 'name: "moods"'),
  'library-outside': configured(`${good}model_operations { op_library_filename: "../ops.so" }\n`),
  pipe: { mood: { config: good, versions: { '1': {} } }, link: ['1/model.onnx', '/dev/null'] },
  'other-backend': changed('backend: "onnxruntime"', 'backend: "vllm"'),

  // Faults of the text.
  misspelt: changed('max_batch_size', 'max_batchsize'),
  'trailing-comma': changed('dims: [ 4 ] }', 'dims: [ 4 ] },'),
  'unknown-type': changed('TYPE_FP32', 'TYPE_FLOAT32'),

  // Differences from the model.
  'batch-in-dims': changed('dims: [ 4 ]', 'dims: [ -1, 4 ]'),
  'no-batch-size': changed('max_batch_size: 32\n', '# max_batch_size is not written\n'),
  'fixed-batch': configured('max_batch_size: 8\n', fixedBatchModel(1)),
  'unknown-rank': configured('', unrankedModel()),
  'other-type': changed('TYPE_FP32', 'TYPE_FP64'),

  // Fields that are not supported.
  unsupported: configured(`${good}instance_group [ { kind: KIND_CPU passive: true } ]\n`),
  gpu: configured(`${good}instance_group [ { kind: KIND_GPU } ]\n`),

  // Faults of requests.
  'no-batch-dimension': asked((server) =>
    server.infer('mood', { words: { data: [1, 0, 0, 0], shape: [4] } }),
  ),
  'wrong-length': asked((server) => server.infer('mood', { words: new Float32Array(6) })),
  'wrong-array': asked((server) => server.infer('mood', { words: new Float64Array(4) })),
  'batch-too-large': asked((server) => server.infer('mood', { words: new Float32Array(33 * 4) })),
  'wrong-name': asked((server) => server.infer('mood', { word: new Float32Array(4) })),
  'unknown-model': asked((server) => Promise.resolve(server.model('moods'))),
};
