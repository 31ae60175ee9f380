/** `tritonts init <file>`: makes a model of a repository of files that stand alone. */

import { copyFile, lstat, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { datatypeOf, type ModelConfig } from '../config/index.js';
import { invalidArgument, TritonError } from '../errors.js';
import { printable } from '../printable.js';
import { checkRepository, type CheckedModel } from '../registry/check-repository.js';

/** A kind of files that a model can be made of. */
export interface Kind {
  readonly backend: string;
  /** What the file is called in the version's folder. */
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
]);

/** The ends of file names that {@link initModel} takes. */
export const modelEndings: readonly string[] = [...kinds.keys()];

/** What the command line says. */
export interface InitModel {
  /** The model's file first, then files that lie beside it. */
  readonly files: readonly string[];
  readonly repository: string;
  /** The model's name; undefined: of the file. */
  readonly name: string | undefined;
  /** A file with a label a line. */
  readonly labels: string | undefined;
}

/** A model that was written, and what a check said of it. */
export interface WrittenModel {
  readonly name: string;
  readonly folder: string;
  readonly written: readonly string[];
  readonly checked: CheckedModel | undefined;
}

/** The kind of a file by its end; undefined: none that a model is made of. */
export function kindOf(file: string): Kind | undefined {
  return kinds.get(extname(file).toLowerCase());
}

/** A name of a file as a model's: `My Model (2).onnx` becomes `My_Model_2`. */
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
    throw invalidArgument(`'${file}' is no file; init takes the model's file, not its folder`);
}

/** A text in a text-format string. */
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

/** A section of inputs or outputs. The first output has the labels. */
function section(
  name: 'input' | 'output',
  tensors: ModelConfig['input'] | ModelConfig['output'],
  labels?: string,
): string {
  return `${name} [\n${tensors.map((tensor, i) => tensorText(tensor, i === 0 ? labels : undefined)).join(',\n')}\n]`;
}

/** The configuration before anything is known of the model's tensors. */
function bareConfig({ backend }: Kind): string {
  const head = `# docs/models.md says what may stand here; 'npx tritonts check' tells what is wrong with it.\n`;
  return `${head}backend: ${quoted(backend)}\n`;
}

/** The configuration as completion found it, with comments. */
function fullConfig(kind: Kind, config: ModelConfig, labels: string | undefined): string {
  const { max_batch_size: rows, dynamic_batching: dynamic } = config;
  const batch =
    rows > 0
      ? `# The most rows of a batch; with many requests at once, 64 may gain more. Every shape has the rows in front of its dims.\nmax_batch_size: ${rows}`
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

/** What a model in code needs, whose tensors nobody can look up: a configuration to fill in. */
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
 * @throws {@link TritonError} ALREADY_EXISTS for a model that is there, NOT_FOUND for a file that is not, INVALID_ARG for
 *   files that no model is made of.
 */
export async function initModel(given: InitModel): Promise<WrittenModel> {
  const [file = '', ...beside] = given.files;
  const kind = kindOf(file);
  if (kind === undefined) throw new RangeError(`no kind of models has files such as '${file}'`);
  for (const one of [...given.files, ...(given.labels === undefined ? [] : [given.labels])])
    await checkFile(one);
  const name = given.name ?? nameOf(file);
  if (!/^[^/\\\0]+$/.test(name) || name === '.' || name === '..')
    throw invalidArgument(`expected the name of a folder for --name but received '${name}'`);
  const folder = join(given.repository, name);
  await refuseExisting(folder);
  // Of two files with one name the second would replace the first.
  const names = [kind.file, ...beside.map((one) => basename(one))];
  const twice = names.find((one, i) => names.indexOf(one) !== i);
  if (twice !== undefined)
    throw invalidArgument(`two files would be called '${twice}' in ${join(folder, '1')}`);
  const sources = [file, ...beside].map((from, i) => ({ from, to: join(folder, '1', names[i] ?? '') }));
  const labels = given.labels === undefined ? undefined : basename(given.labels);
  await mkdir(given.repository, { recursive: true });
  // This one fails where another process has made it meanwhile.
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
    // A file that the runtime has read and refused becomes no model. Whatever else is wrong can be mended in place.
    const [problem] = checked?.problems ?? [];
    if (kind.backend === 'onnxruntime' && problem !== undefined && problem.code !== 'UNAVAILABLE')
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

/** Whether a program wrote its tensors down nowhere: they are what it makes of them. */
function isCode({ backend }: Kind): boolean {
  return backend === 'javascript' || backend === 'python';
}

/** What a load would say of the model alone, whatever else is in the repository. */
async function look(repository: string, name: string): Promise<CheckedModel | undefined> {
  const models = await checkRepository({ modelRepository: repository }, undefined, [name]);
  return models.find((model) => model.name === name);
}

/** @throws {@link TritonError} ALREADY_EXISTS where there is something. */
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

/** Elements that make a first request, of zeros or empty texts: 16 KiB of JSON at most. */
const mostExample = 4096;

/** The request of a first try, as JSON; undefined where it would be too large. */
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
