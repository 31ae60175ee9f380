/** The frameworks that are measured: where each is installed, and its forms of the models. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { configOf, type BenchModel } from '../measuring/models.js';
import { buildProgram } from '../contestants/bare-loop.js';
import { buildShim, compileProgram } from '../../src/backends/pytorch/build.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A framework, installed in an environment of Python. */
export interface Framework {
  readonly title: string;
  readonly backend: string;
  /** The command that makes its environment. */
  readonly install: string;
  /** Builds the bare loop. Returns its path. */
  build(library: string): Promise<string>;
  /** The Python that has it. */
  readonly python: string;
  /** A model's file or folder in its version folder. */
  readonly file: string;
  /** Its library; undefined: it is not installed. */
  library(): string | undefined;
  /** Writes a repository of these models. */
  prepare(repository: string, models: readonly BenchModel[]): Promise<void>;
}

/** The first file whose name begins so, in a folder of the packages of an environment. */
function findIn(environment: string, folder: string, begin: string): string | undefined {
  const lib = join(root, environment, 'lib');
  for (const version of existsSync(lib) ? readdirSync(lib) : []) {
    const place = join(lib, version, 'site-packages', folder);
    const file = (existsSync(place) ? readdirSync(place) : []).find((name) => name.startsWith(begin));
    if (file !== undefined) return join(place, file);
  }
  return undefined;
}

/** Writes a model's configuration. Returns its version folder. */
async function writeConfig(
  repository: string,
  model: BenchModel,
  change: (text: string) => string,
): Promise<string> {
  const version = join(repository, model.name, '1');
  await mkdir(version, { recursive: true });
  await writeFile(join(repository, model.name, 'config.pbtxt'), change(configOf(model, 'FP32')));
  return version;
}

const openvino: Framework = {
  title: 'OpenVINO',
  backend: 'openvino',
  install: 'npm test -- frameworks',
  build: () => buildProgram('openvino_loop'),
  python: join(root, '.venv-frameworks', 'bin', 'python'),
  file: 'model.onnx',
  library: () => findIn('.venv-frameworks', 'openvino/libs', 'libopenvino_c.so'),
  async prepare(repository, models) {
    for (const model of models) {
      const version = await writeConfig(
        repository,
        model,
        (text) => `${text.replace('"onnxruntime"', '"openvino"')}default_model_filename: "${this.file}"\n`,
      );
      await writeFile(join(version, this.file), model.bytes?.() ?? '');
    }
  },
};

const tensorflow: Framework = {
  title: 'TensorFlow',
  backend: 'tensorflow',
  install: 'npm test -- frameworks',
  build: () => buildProgram('tensorflow_loop'),
  python: join(root, '.venv-tensorflow', 'bin', 'python'),
  file: 'model.savedmodel',
  library: () => findIn('.venv-tensorflow', 'tensorflow', 'libtensorflow_cc.so'),
  async prepare(repository, models) {
    for (const model of models) {
      await writeConfig(repository, model, (text) =>
        text.replace('backend: "onnxruntime"', 'platform: "tensorflow_savedmodel"'),
      );
    }
    // Their weights differ from those of the ONNX files; the work is the same.
    const script = join(root, 'bench', 'frameworks', 'tensorflow_models.py');
    await promisify(execFile)(this.python, [script, repository, ...models.map(({ name }) => name)]);
  },
};

const pytorch: Framework = {
  title: 'PyTorch',
  backend: 'pytorch',
  install: 'npm test -- pytorch',
  build: (library) => {
    const program = join(root, 'build', 'bench-native', 'bin', 'pytorch_loop');
    const source = join(root, 'bench', 'native', 'pytorch_loop.cc');
    mkdirSync(dirname(program), { recursive: true });
    compileProgram(library, source, program, ['-std=c++20', `-I${join(root, 'native')}`]);
    return Promise.resolve(program);
  },
  python: join(root, '.venv-torch', 'bin', 'python'),
  file: 'model.pt',
  library: () => findIn('.venv-torch', 'torch/lib', 'libtorch_cpu.so'),
  async prepare(repository, models) {
    const library = this.library();
    if (library !== undefined) buildShim({ torch: library });
    for (const model of models)
      await writeConfig(repository, model, (text) => text.replace('"onnxruntime"', '"pytorch"'));
    // Their weights differ from those of the ONNX files; the work is the same.
    const script = join(root, 'bench', 'frameworks', 'pytorch_models.py');
    await promisify(execFile)(this.python, [script, repository, ...models.map(({ name }) => name)]);
  },
};

export const frameworks: readonly Framework[] = [openvino, tensorflow, pytorch];
