/** The models of the fixtures, with the answers of TensorFlow's own Python, as `make_models.py` records them. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { configText, type ConfigOptions } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { readRecorded, recordedAmong, tensorTexts, type RecordedModel } from '../../support/recorded.js';
import type { Files, RepositoryModel } from '../../support/repository.js';
import { hasTensorFlow } from '../../support/tensorflow.js';

export { asInput, asked, assertAnswers, rowOf, type RecordedModel } from '../../support/recorded.js';

const folder = join(root, 'test', 'backends', 'tensorflow', 'fixtures');

/** All models that can be served. */
export const recordedModels: readonly RecordedModel[] = await readRecorded(join(folder, 'answers.json'));

/** A model of the fixtures. */
export function recordedModel(name: string): RecordedModel {
  return recordedAmong(recordedModels, name);
}

/** Options of tests that need TensorFlow. */
export const needsTensorFlow: { readonly skip: string | false } = {
  skip: !hasTensorFlow && 'TensorFlow is not installed: set TRITONTS_TENSORFLOW_PATH',
};

const isGraph = (file: string): boolean => file.endsWith('.graphdef');

/** The files of a model, with the names that a repository needs. */
export async function filesOf(file: string): Promise<Files> {
  if (isGraph(file)) return { 'model.graphdef': await readFile(join(folder, file)) };
  const found = await readdir(join(folder, file), { recursive: true });
  const read = found.map(async (name): Promise<[string, Uint8Array][]> => {
    const path = join(folder, file, name);
    return (await stat(path)).isFile() ? [[`model.savedmodel/${name}`, await readFile(path)]] : [];
  });
  return Object.fromEntries((await Promise.all(read)).flat());
}

/** Options of {@link tensorflow}. */
export type TensorFlowOptions = Omit<ConfigOptions, 'backend'>;

/** A model with a configuration. Its tensors have the recorded dims, without the first one if it is batched. */
export async function tensorflow(
  { file, inputs, outputs }: Omit<RecordedModel, 'name'>,
  { more = '', ...options }: TensorFlowOptions = {},
): Promise<RepositoryModel> {
  const batching = (options.maxBatchSize ?? 64) > 0;
  const config = configText({
    inputs: tensorTexts(inputs, batching),
    outputs: tensorTexts(outputs, batching),
    ...options,
    ...(!batching && { batching: false }),
    backend: 'tensorflow',
    more: `platform: "${platformOf(file)}"\n${more}`,
  });
  return { config, versions: { '1': await filesOf(file) } };
}

/** A model without inputs and outputs in its configuration. Its folder shows what it is. */
export async function completed({ file }: Pick<RecordedModel, 'file'>, more = ''): Promise<RepositoryModel> {
  return { ...(more !== '' && { config: more }), versions: { '1': await filesOf(file) } };
}

/** The platform of a model in a configuration. */
export function platformOf(file: string): string {
  return isGraph(file) ? 'tensorflow_graphdef' : 'tensorflow_savedmodel';
}

/** A line of a configuration with a parameter. */
export function parameter(key: string, value: string): string {
  return `parameters { key: "${key}" value { string_value: "${value}" } }`;
}
