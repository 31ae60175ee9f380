/** The models of the fixtures, with the answers of OpenVINO's own Python, as `make_models.py` records them. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configText, type ConfigOptions } from '../../support/harness.js';
import { hasOpenVino } from '../../support/openvino.js';
import { root } from '../../support/project.js';
import { readRecorded, recordedAmong, tensorTexts, type RecordedModel } from '../../support/recorded.js';
import type { Files, RepositoryModel } from '../../support/repository.js';

export { asInput, asked, assertAnswers, rowOf } from '../../support/recorded.js';

const folder = join(root, 'test', 'backends', 'openvino', 'fixtures');

/** All models that can be served. */
export const recordedModels: readonly RecordedModel[] = await readRecorded(join(folder, 'answers.json'));

/** A model of the fixtures. */
export function recordedModel(name: string): RecordedModel {
  return recordedAmong(recordedModels, name);
}

/** Options of tests that need OpenVINO. */
export const needsOpenVino: { readonly skip: string | false } = {
  skip: !hasOpenVino && 'OpenVINO is not installed: set TRITONTS_OPENVINO_PATH',
};

/** The files of a model, with the names that a repository needs. */
export async function filesOf(file: string): Promise<Files> {
  const read = (name: string): Promise<Buffer> => readFile(join(folder, name));
  if (file.endsWith('.onnx')) return { 'model.onnx': await read(file) };
  return { 'model.xml': await read(file), 'model.bin': await read(file.replace(/xml$/, 'bin')) };
}

/** Options of {@link openvino}. */
export type OpenVinoOptions = Omit<ConfigOptions, 'backend'>;

/** A model with a configuration. Its tensors have the recorded dims, without the first one if it is batched. */
export async function openvino(
  { file, inputs, outputs }: RecordedModel,
  { more = '', ...options }: OpenVinoOptions = {},
): Promise<RepositoryModel> {
  const batching = (options.maxBatchSize ?? 64) > 0;
  const config = configText({
    inputs: tensorTexts(inputs, batching),
    outputs: tensorTexts(outputs, batching),
    ...options,
    ...(!batching && { batching: false }),
    backend: 'openvino',
    more: file.endsWith('.onnx') ? `${more}\ndefault_model_filename: "model.onnx"` : more,
  });
  return { config, versions: { '1': await filesOf(file) } };
}

/** A model without inputs and outputs in its configuration. */
export async function completed({ file }: Pick<RecordedModel, 'file'>, more = ''): Promise<RepositoryModel> {
  // A folder with model.xml needs no configuration.
  const text = file.endsWith('.onnx')
    ? `backend: "openvino" default_model_filename: "model.onnx" ${more}`
    : more;
  return { ...(text !== '' && { config: text }), versions: { '1': await filesOf(file) } };
}
