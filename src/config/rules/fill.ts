/** Determines name, backend, platform and file name from the model's directory, by Triton's rules. */

import { foreignName } from '../../foreign-content.js';
import type { ModelFile, RulesOfBackends } from '../support/backend-rules.js';
import type { Report } from '../text/problems.js';
import type { ModelConfig } from '../schema/types.js';

/** An entry of a directory. */
export interface DirectoryEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** A kind of model file: how it is recognised, and the values that are then filled in. */
interface ModelKind extends ModelFile {
  readonly backend: string;
  /** Whether the file name is filled in only if the platform was also left out. */
  readonly filenameOnlyWithPlatform?: boolean;
}

/** The kinds of Triton's own rules. Tried in this order, before those of our backends. The first match wins. */
const tritonKinds: readonly ModelKind[] = [
  {
    backend: 'tensorflow',
    filename: 'model.savedmodel',
    entry: 'directory',
    platforms: ['tensorflow_savedmodel'],
  },
  { backend: 'tensorflow', filename: 'model.graphdef', entry: 'file', platforms: ['tensorflow_graphdef'] },
  { backend: 'tensorrt', filename: 'model.plan', entry: 'file', platforms: ['tensorrt_plan'] },
  { backend: 'onnxruntime', filename: 'model.onnx', entry: 'either', platforms: ['onnxruntime_onnx'] },
  { backend: 'openvino', filename: 'model.xml', entry: 'either', platforms: [] },
  {
    backend: 'pytorch',
    filename: 'model.pt',
    entry: 'file',
    platforms: ['pytorch_libtorch', 'libtorch'],
    filenameOnlyWithPlatform: true,
  },
  { backend: 'pytorch', filename: 'model.pt2', entry: 'file', platforms: ['torch_aoti'] },
  { backend: 'python', filename: 'model.py', entry: 'either', platforms: [] },
];

function kindsOf(backends: RulesOfBackends): readonly ModelKind[] {
  const own = [...backends].flatMap(([backend, { files = [] }]) =>
    files.map((file) => ({ ...file, backend })),
  );
  return [...tritonKinds, ...own.filter((kind) => !kind.mayBeData), ...own.filter((kind) => kind.mayBeData)];
}

/** The backend that each platform belongs to. */
export const backendOfPlatform: ReadonlyMap<string, string> = new Map([
  ...tritonKinds.flatMap(({ platforms, backend }) =>
    platforms.slice(0, 1).map((platform) => [platform, backend] as const),
  ),
]);

/**
 * Fills in `name`, `backend`, `platform` and `default_model_filename` if they were left out. Written values
 * stay.
 *
 * @param config - The configuration as written.
 * @param modelName - Name of the model's directory.
 * @param entries - Content of the first sub-directory, by name, of the model's directory; empty if there is
 *   none.
 * @param backends - The backends' rules, whose files are tried after Triton's.
 * @param report - Called if no backend can be determined.
 */
export function fillFromFiles(
  config: ModelConfig,
  modelName: string,
  entries: readonly DirectoryEntry[],
  backends: RulesOfBackends,
  report: Report,
): ModelConfig {
  const nameEnd = modelName.slice(modelName.indexOf('.') + 1);
  // The name says more than a file that may be data.
  const isNamed = config.backend === '' && modelName.includes('.') && backends.has(nameEnd);
  const kinds = kindsOf(backends).filter((kind) => !isNamed || !kind.mayBeData);
  const name = config.name === '' ? modelName : config.name;
  const { backend, platform, default_model_filename: filename } = config;
  const kind = kinds.find((one) => matches(one, config, entries)) ?? defaultKind(config, kinds, entries);
  if (kind !== undefined) {
    const fillFilename = filename === '' && (platform === '' || !kind.filenameOnlyWithPlatform);
    return {
      ...config,
      name,
      backend: kind.backend,
      platform: platform === '' ? (kind.platforms[0] ?? '') : platform,
      default_model_filename: fillFilename ? kind.filename : filename,
    };
  }
  if (backend === '' && platform === '' && filename === '') {
    // A name may contain a version, such as bge-small-v1.5; a backend's name does not begin with a digit.
    if (modelName.includes('.') && /^[a-z_]/i.test(nameEnd)) {
      return { ...config, name, backend: nameEnd, default_model_filename: `model.${nameEnd}` };
    }
    const known = kinds.map((one) => one.filename).join(', ');
    report(
      'backend',
      `missing, and cannot be told from the files: ${foundText(entries)} and none of ${known}, and the model's name does ` +
        `not end with a backend (model.<backend>). ${backendAdvice(entries)}`,
    );
  }
  return { ...config, name };
}

/** The maximum number of names in a message. Further ones are only counted. */
const mostNamed = 5;

function foundText(entries: readonly DirectoryEntry[]): string {
  if (entries.length === 0) return 'the first version folder holds nothing,';
  const names = entries.slice(0, mostNamed).map(({ name }) => name);
  const more = entries.length - names.length;
  return `the first version folder holds ${names.join(', ')}${more > 0 ? `, ${more} more` : ''}`;
}

function backendAdvice(entries: readonly DirectoryEntry[]): string {
  const [onnx, ...others] = entries
    .filter(({ name, isDirectory }) => !isDirectory && /\.onnx$/i.test(name))
    .map(({ name }) => name)
    .sort();
  if (onnx === undefined) {
    if (entries.length === 0) return 'Put the model there, such as model.onnx';
    for (const { name, isDirectory } of entries) {
      const words = isDirectory ? undefined : foreignName(name);
      if (words !== undefined) return `${name} ${words}`;
    }
    const alike = entries.find(({ name, isDirectory }) => !isDirectory && /^model\.onnx\W/i.test(name));
    if (alike !== undefined) return `Rename '${alike.name}' to model.onnx`;
    const folder = entries.find(({ name, isDirectory }) => isDirectory && /saved_?model/i.test(name));
    if (folder !== undefined)
      return `If '${folder.name}' is a SavedModel of TensorFlow, rename it to model.savedmodel`;
    return entries.every(({ isDirectory }) => isDirectory)
      ? "A version's folder holds the model's file itself, such as 1/model.onnx: move it there"
      : 'Write, for example, backend: "onnxruntime"';
  }
  const named = `write in config.pbtxt backend: "onnxruntime" default_model_filename: ${JSON.stringify(onnx)}`;
  return others.length === 0
    ? `Rename ${onnx} to model.onnx, or ${named}`
    : `Say which file is the model: ${named}`;
}

/** Whether a configuration's parameters allow a kind. */
function mayBe({ parameter }: ModelKind, { parameters }: ModelConfig): boolean {
  const written = parameter && parameters[parameter.key]?.string_value;
  return written === undefined || written === '' || written === parameter?.value;
}

/**
 * Whether a model is of a kind. Parameter, platform, file name and files are checked in this order; the first that
 * is known decides.
 */
function matches(kind: ModelKind, config: ModelConfig, entries: readonly DirectoryEntry[]): boolean {
  const { backend, platform, default_model_filename: filename } = config;
  if (backend !== '' && backend !== kind.backend) return false;
  if (!mayBe(kind, config)) return false;
  if (platform !== '' && kind.platforms.includes(platform)) return true;
  if (filename !== '') return filename === kind.filename;
  return platform === '' && isThere(kind, entries);
}

function isThere({ filename, entry: wanted }: ModelKind, entries: readonly DirectoryEntry[]): boolean {
  return entries.some(
    ({ name, isDirectory }) =>
      name === filename && (wanted === 'either' || isDirectory === (wanted === 'directory')),
  );
}

/** The kind of a backend's model if neither platform, file name nor files determine it. */
function defaultKind(
  config: ModelConfig,
  kinds: readonly ModelKind[],
  entries: readonly DirectoryEntry[],
): ModelKind | undefined {
  // TensorFlow has two formats, and nothing shows which one is used.
  if (config.backend === 'tensorflow') return undefined;
  const own = kinds.filter(({ backend }) => backend === config.backend);
  // A parameter that fits no kind is a mistake. The file that is there then leads to the error about it.
  return own.find((kind) => mayBe(kind, config)) ?? own.find((kind) => isThere(kind, entries)) ?? own[0];
}
