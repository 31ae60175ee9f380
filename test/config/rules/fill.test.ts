import assert from 'node:assert/strict';
import test from 'node:test';
import { fillFromFiles, type DirectoryEntry } from '../../../src/config/rules/fill.js';
import type { ModelConfig } from '../../../src/config/schema/types.js';
import { backends, reported, whole } from '../helpers.js';

/** `model.onnx` is a file, `model.onnx/` a directory. */
const entries = (names: readonly string[]): DirectoryEntry[] =>
  names.map((name) => ({ name: name.replace('/', ''), isDirectory: name.endsWith('/') }));

function fill(
  text: string,
  files: readonly string[],
  modelName = 'm',
): { config: ModelConfig; problems: string[] } {
  let config = whole(text);
  const problems = reported((report) => {
    config = fillFromFiles(config, modelName, entries(files), backends, report);
  });
  return { config, problems };
}

const modelType = (value: string): string =>
  `parameters { key: "model_type" value { string_value: "${value}" } }`;

for (const [text, files, backend, platform, filename] of [
  // By the files of the version directory, if nothing is written.
  ['', ['model.savedmodel/'], 'tensorflow', 'tensorflow_savedmodel', 'model.savedmodel'],
  ['', ['model.graphdef'], 'tensorflow', 'tensorflow_graphdef', 'model.graphdef'],
  ['', ['model.plan'], 'tensorrt', 'tensorrt_plan', 'model.plan'],
  ['', ['model.onnx'], 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
  ['', ['model.onnx/'], 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
  ['', ['model.xml', 'model.bin'], 'openvino', '', 'model.xml'],
  ['', ['model.pt'], 'pytorch', 'pytorch_libtorch', 'model.pt'],
  ['', ['model.pt2'], 'pytorch', 'torch_aoti', 'model.pt2'],
  ['', ['model.py'], 'python', '', 'model.py'],
  ['', ['model.py', 'model.onnx', 'model.plan'], 'tensorrt', 'tensorrt_plan', 'model.plan'],
  ['', ['model.savedmodel', 'model.plan/', 'model.py'], 'python', '', 'model.py'],
  // By the platform.
  ['platform: "onnxruntime_onnx"', ['model.plan'], 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
  ['platform: "tensorrt_plan"', [], 'tensorrt', 'tensorrt_plan', 'model.plan'],
  ['platform: "tensorflow_graphdef"', [], 'tensorflow', 'tensorflow_graphdef', 'model.graphdef'],
  ['platform: "pytorch_libtorch"', ['model.pt'], 'pytorch', 'pytorch_libtorch', ''],
  ['platform: "libtorch"', [], 'pytorch', 'libtorch', ''],
  ['platform: "torch_aoti"', [], 'pytorch', 'torch_aoti', 'model.pt2'],
  ['platform: "ensemble"', ['model.onnx'], '', 'ensemble', ''],
  ['platform: "caffe"', ['model.onnx'], '', 'caffe', ''],
  // By the file name.
  ['default_model_filename: "model.onnx"', ['model.plan'], 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
  ['default_model_filename: "model.xml"', [], 'openvino', '', 'model.xml'],
  ['default_model_filename: "other.onnx"', ['model.onnx'], '', '', 'other.onnx'],
  // With a backend only what is left out is filled in.
  ['backend: "onnxruntime"', [], 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
  [
    'backend: "onnxruntime" default_model_filename: "a.onnx"',
    [],
    'onnxruntime',
    'onnxruntime_onnx',
    'a.onnx',
  ],
  ['backend: "onnxruntime" platform: "tensorrt_plan"', [], 'onnxruntime', 'tensorrt_plan', 'model.onnx'],
  ['backend: "openvino" default_model_filename: "model.onnx"', [], 'openvino', '', 'model.onnx'],
  ['backend: "pytorch"', ['model.pt2'], 'pytorch', 'torch_aoti', 'model.pt2'],
  ['backend: "pytorch"', [], 'pytorch', 'pytorch_libtorch', 'model.pt'],
  ['backend: "tensorflow"', ['model.graphdef'], 'tensorflow', 'tensorflow_graphdef', 'model.graphdef'],
  ['backend: "tensorflow"', [], 'tensorflow', '', ''],
  ['backend: "python"', [], 'python', '', 'model.py'],
  // By the files that a backend of ours names.
  ['', ['model.mjs'], 'javascript', '', 'model.mjs'],
  ['', ['model.js', 'model.mjs'], 'javascript', '', 'model.js'],
  ['', ['model.js', 'model.py'], 'python', '', 'model.py'],
  ['backend: "javascript"', ['model.mjs'], 'javascript', '', 'model.mjs'],
  ['backend: "javascript"', [], 'javascript', '', 'model.js'],
  ['backend: "identity"', ['model.onnx'], 'identity', '', ''],
  // By files that may also be the data of other models.
  ['', ['xgboost.json'], 'fil', '', 'xgboost.json'],
  ['', ['model.txt', 'xgboost.ubj'], 'fil', '', 'xgboost.ubj'],
  ['', ['model.txt', 'model.mjs'], 'javascript', '', 'model.mjs'],
  ['', ['xgboost.json', 'model.py'], 'python', '', 'model.py'],
  ['', ['model.txt/', 'model.onnx'], 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
  ['default_model_filename: "checkpoint.tl"', [], 'fil', '', 'checkpoint.tl'],
  // By a parameter that names the kind of file.
  ['backend: "fil"', [], 'fil', '', 'xgboost.model'],
  ['backend: "fil"', ['model.txt'], 'fil', '', 'model.txt'],
  [`backend: "fil" ${modelType('lightgbm')}`, ['xgboost.json', 'model.txt'], 'fil', '', 'model.txt'],
  [`backend: "fil" ${modelType('lightgbm')}`, ['xgboost.json'], 'fil', '', 'model.txt'],
  [modelType('xgboost_ubj'), ['xgboost.json', 'xgboost.ubj'], 'fil', '', 'xgboost.ubj'],
  [
    `backend: "fil" ${modelType('xgboost_json')} default_model_filename: "xgboost.ubj"`,
    [],
    'fil',
    '',
    'xgboost.ubj',
  ],
  [`backend: "fil" ${modelType('unknown')}`, ['xgboost.json'], 'fil', '', 'xgboost.json'],
] as const) {
  test(`${text || 'nothing'} with [${files.join(' ')}] gives backend "${backend}", platform "${platform}", file "${filename}"`, () => {
    const { config, problems } = fill(text, files);
    assert.deepEqual(
      [config.backend, config.platform, config.default_model_filename, problems],
      [backend, platform, filename, []],
    );
  });
}

test('a name with a dot names the backend where nothing else does', () => {
  const { config, problems } = fill('', [], 'net.my.backend');
  assert.deepEqual(
    [config.backend, config.default_model_filename, problems],
    ['my.backend', 'model.my.backend', []],
  );
});

test('a name with a backend says more than a file that may be data', () => {
  assert.equal(fill('', ['model.txt'], 'net.identity').config.backend, 'identity');
  assert.equal(fill('', ['model.onnx'], 'net.identity').config.backend, 'onnxruntime');
  // A version is no backend.
  assert.equal(fill('', ['model.txt'], 'forest-v1.5').config.backend, 'fil');
});

test('a backend that cannot be told is missing', () => {
  const { problems } = fill('', ['weights.bin']);
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? '', /^INVALID_ARG backend: missing.*model\.onnx.*model\.<backend>/);
});

test('a name that was left out is that of the directory, and one that was written stays', () => {
  assert.equal(fill('backend: "identity"', [], 'm').config.name, 'm');
  assert.equal(fill('backend: "identity" name: "n"', [], 'm').config.name, 'n');
});
