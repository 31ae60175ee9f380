/** `tritonts init <file>`: makes a model in a repository from single files. */

import { copyFile, lstat, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { datatypeOf, type ModelConfig } from '../config/index.js';
import { invalidArgument, TritonError } from '../errors.js';
import { printable } from '../printable.js';
import { checkRepository, type CheckedModel } from '../registry/check-repository.js';

/** A kind of file that a model can be made from. */
export interface Kind {
  readonly backend: string;
  /** The file's name in the version's folder. */
  readonly file: string;
}

const kinds: ReadonlyMap<string, Kind> = new Map([
  ['.onnx', { backend: 'onnxruntime', file: 'model.onnx' }],
  ['.plan', { backend: 'tensorrt', file: 'model.plan' }],
  ['.engine', { backend: 'tensorrt', file: 'model.plan' }],
  ['.js', { backend: 'javascript', file: 'model.js' }],
  ['.mjs', { backend: 'javascript', file: 'model.mjs' }],
  ['.cjs', { backend: 'javascript', file: 'model.cjs' }],
  ['.ts', { backend: 'javascript', file: 'model.ts' }],
  ['.py', { backend: 'python', file: 'model.py' }],
  ['.json', { backend: 'fil', file: 'xgboost.json' }],
  ['.ubj', { backend: 'fil', file: 'xgboost.ubj' }],
  ['.txt', { backend: 'fil', file: 'model.txt' }],
  ['.tl', { backend: 'fil', file: 'checkpoint.tl' }],
]);

/** The file name extensions that {@link initModel} accepts. */
export const modelEndings: readonly string[] = [...kinds.keys()];

/** The arguments of the command line. */
export interface InitModel {
  /** The model's file first, then the files to put beside it. */
  readonly files: readonly string[];
  readonly repository: string;
  /** The model's name; undefined: derived from the file's name. */
  readonly name: string | undefined;
  /** A file with one label per line. */
  readonly labels: string | undefined;
}

/** A written model, with the result of its check. */
export interface WrittenModel {
  readonly name: string;
  readonly folder: string;
  readonly written: readonly string[];
  readonly checked: CheckedModel | undefined;
}

/** The kind of a file by its extension; undefined if no model can be made from it. */
export function kindOf(file: string): Kind | undefined {
  return kinds.get(extname(file).toLowerCase());
}

/** Derives a model's name from a file's: `My Model (2).onnx` becomes `My_Model_2`. */
function nameOf(file: string): string {
  const name = basename(file, extname(file))
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
    .replaceAll(/^[._-]+|[._-]+$/g, '');
  return name === '' ? 'model' : name;
}

async function checkFile(file: string): Promise<void> {
  const found = await stat(file).catch((cause: unknown) => {
    throw new TritonError('NOT_FOUND', `there is no file '${file}'`, { cause });
  });
  if (!found.isFile())
    throw invalidArgument(`'${file}' is not a file; init takes the model's file, not its folder`);
}

/** Quotes a text for the text format of configurations. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

function tensorText(
  tensor: ModelConfig['input'][number] | ModelConfig['output'][number],
  labels: string | undefined,
): string {
  const label = labels === undefined ? '' : ` label_filename: ${quoted(labels)}`;
  const optional = 'optional' in tensor && tensor.optional ? ' optional: true' : '';
  const shape = tensor.is_shape_tensor ? ' is_shape_tensor: true' : '';
  return `  { name: ${quoted(tensor.name)} data_type: ${tensor.data_type} dims: [ ${tensor.dims.join(', ')} ]${optional}${shape}${label} }`;
}

/** A section of inputs or outputs. The first output gets the labels. */
function section(
  name: 'input' | 'output',
  tensors: ModelConfig['input'] | ModelConfig['output'],
  labels?: string,
): string {
  return `${name} [\n${tensors.map((tensor, i) => tensorText(tensor, i === 0 ? labels : undefined)).join(',\n')}\n]`;
}

/** The configuration before the model's tensors are known. */
function bareConfig({ backend }: Kind): string {
  const head = `# docs/models.md lists the fields; 'npx tritonts check' finds mistakes.\n`;
  return `${head}backend: ${quoted(backend)}\n`;
}

/** The configuration that auto-completion found, with comments. */
function fullConfig(kind: Kind, config: ModelConfig, labels: string | undefined): string {
  const { max_batch_size: rows, dynamic_batching: dynamic } = config;
  const batch =
    rows > 0
      ? `# The most rows of a batch${rows < 64 ? '; with many requests at once, 64 may gain more' : ''}. Every shape has the rows in front of its dims.\nmax_batch_size: ${rows}`
      : `# 0: the model has no batch dimension, and dims are whole shapes. Where the first dimension of all inputs and outputs is the\n# batch, take it out of dims, and write the most rows here, such as 64.\nmax_batch_size: 0`;
  const batching =
    rows > 0
      ? dynamic === undefined
        ? `\n# Without '#', requests that wait at the same time run as one batch.\n# dynamic_batching { }\n`
        : `\n# Requests that wait at the same time run as one batch.\ndynamic_batching { }\n`
      : '';
  const labelled =
    labels === undefined
      ? ''
      : ` Line n of ${labels} names class n - 1 of the output\n# that has label_filename; requests ask for it with 'classification'.`;
  return `${bareConfig(kind)}
${batch}

# Names, datatypes and shapes are the model's own; -1 is a dimension of any size.${labelled}
${section('input', config.input)}
${section('output', config.output, labels)}
${batching}
# How many batches may run at once, each with its own share of the threads.
# instance_group [ { count: 1 kind: KIND_CPU } ]
`;
}

/** A configuration to fill in, for a model in code whose tensors cannot be read from a file. */
function template(kind: Kind, labels: string | undefined): string {
  const label = labels === undefined ? '' : ` label_filename: ${quoted(labels)}`;
  return `${bareConfig(kind)}
# Say what the model takes and answers: these are an example. Datatypes are TYPE_FP32, TYPE_INT64, TYPE_STRING and so on; -1 is a
# dimension of any size. With max_batch_size above 0 every shape has the rows of the batch in front of its dims.
max_batch_size: 0
input [
  { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
]
output [
  { name: "y" data_type: TYPE_FP32 dims: [ -1 ]${label} }
]
`;
}

/**
 * Makes the model's folder, its version 1 and its configuration.
 *
 * @throws {@link TritonError} ALREADY_EXISTS if the model exists, NOT_FOUND if a file does not exist,
 *   INVALID_ARG for files that no model can be made from.
 */
export async function initModel(given: InitModel): Promise<WrittenModel> {
  const [file = '', ...beside] = given.files;
  const kind = kindOf(file);
  if (kind === undefined) throw new RangeError(`no backend reads files such as '${file}'`);
  for (const one of [...given.files, ...(given.labels === undefined ? [] : [given.labels])])
    await checkFile(one);
  const name = given.name ?? nameOf(file);
  if (!/^[^/\\\0]+$/.test(name) || name === '.' || name === '..')
    throw invalidArgument(`expected the name of a folder for --name but received '${name}'`);
  const folder = join(given.repository, name);
  await refuseExisting(folder);
  // Of two files with the same name, the second would replace the first.
  const names = [kind.file, ...beside.map((one) => basename(one))];
  const twice = names.find((one, i) => names.indexOf(one) !== i);
  if (twice !== undefined)
    throw invalidArgument(`two files would be called '${twice}' in ${join(folder, '1')}`);
  const sources = [file, ...beside].map((from, i) => ({ from, to: join(folder, '1', names[i] ?? '') }));
  const labels = given.labels === undefined ? undefined : basename(given.labels);
  await mkdir(given.repository, { recursive: true });
  // Not recursive: it fails if another process has made the folder meanwhile.
  await mkdir(folder);
  try {
    await mkdir(join(folder, '1'));
    const config = join(folder, 'config.pbtxt');
    for (const { from, to } of sources) await copyFile(from, to);
    if (given.labels !== undefined && labels !== undefined)
      await copyFile(given.labels, join(folder, labels));
    const written = [
      config,
      ...sources.map(({ to }) => to),
      ...(labels === undefined ? [] : [join(folder, labels)]),
    ];
    await writeFile(config, bareConfig(kind));
    let checked = await look(given.repository, name);
    const text =
      checked?.config !== undefined
        ? fullConfig(kind, checked.config, labels)
        : isCode(kind)
          ? template(kind, labels)
          : undefined;
    if (text !== undefined) {
      await writeFile(config, printable(text));
      checked = await look(given.repository, name);
    }
    // If the file was read and refused, no model is made. Other problems can be mended in place.
    const [problem] = checked?.problems ?? [];
    if (isRead(kind) && problem !== undefined && problem.code !== 'UNAVAILABLE')
      throw new TritonError(
        problem.code,
        `'${file}' would not load, so no model was made: ${problem.message}`,
      );
    return { name, folder, written, checked };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Whether the check reads the whole file, on any machine. */
function isRead({ backend }: Kind): boolean {
  return backend === 'onnxruntime' || backend === 'fil';
}

/** Whether the model is code, whose tensors only its author knows. */
function isCode({ backend }: Kind): boolean {
  return backend === 'javascript' || backend === 'python';
}

/** Checks the model alone, regardless of the rest of the repository. */
async function look(repository: string, name: string): Promise<CheckedModel | undefined> {
  const models = await checkRepository({ modelRepository: repository }, undefined, [name]);
  return models.find((model) => model.name === name);
}

/**
 * Throws if the folder already exists.
 *
 * @throws {@link TritonError} ALREADY_EXISTS if an entry of that name exists.
 */
export async function refuseExisting(folder: string): Promise<void> {
  // A dangling link counts as existing, too.
  const there = await lstat(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (there) {
    throw new TritonError(
      'ALREADY_EXISTS',
      `'${folder}' is there already; it was left as it is; --name gives the new model another name`,
    );
  }
}

/** The maximum number of elements of an example request, of zeros or empty texts: at most 16 KiB of JSON. */
const mostExample = 4096;

/** An example request as JSON; undefined if it would be too large. */
export function exampleRequest({ input, max_batch_size: rows }: ModelConfig): string | undefined {
  let elements = 0;
  const inputs = input
    .filter(({ optional }) => !optional)
    .map((tensor) => {
      const dims = tensor.dims.map((dim) => (dim < 0 ? 1 : dim));
      const count = dims.reduce((product, dim) => product * dim, 1);
      elements += count;
      const datatype = datatypeOf(tensor.data_type) ?? '';
      const value = datatype === 'BYTES' ? '' : datatype === 'BOOL' ? false : 0;
      return {
        name: tensor.name,
        datatype,
        shape: [...(rows > 0 && !tensor.is_shape_tensor ? [1] : []), ...dims],
        data: elements > mostExample ? [] : Array.from({ length: count }, () => value),
      };
    });
  return elements > mostExample ? undefined : JSON.stringify({ inputs });
}
