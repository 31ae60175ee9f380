/** The models of the fixtures, which make_models.cc has written with libtorch. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { InferResult, TritonError } from '../../../src/index.js';
import { configText, rejection, serve, type ConfigOptions, type Context } from '../../support/harness.js';
import { root } from '../../support/project.js';
import type { Files, RepositoryModel } from '../../support/repository.js';

export { needsPyTorch } from '../../support/pytorch.js';

/** The file of a model of the fixtures, under the name that a repository needs. */
export async function fileOf(name: string): Promise<Files> {
  return { 'model.pt': await readFile(join(root, 'test', 'backends', 'pytorch', 'fixtures', `${name}.pt`)) };
}

/** Options of {@link torch}. */
export type TorchOptions = Omit<ConfigOptions, 'backend'>;

/** A model of the fixtures with a configuration: by default one FP32 input x and output y of any width. */
export async function torch(name: string, options: TorchOptions = {}): Promise<RepositoryModel> {
  const config = configText({
    inputs: [{ name: 'x', dims: [-1] }],
    outputs: [{ name: 'y', dims: [-1] }],
    ...options,
    ...(options.maxBatchSize === 0 && { batching: false }),
    backend: 'pytorch',
  });
  return { config, versions: { '1': await fileOf(name) } };
}

/** A string for each row of a batch, as Triton's backend takes it. */
export const texts = (name: string): string =>
  `{ name: "${name}" data_type: TYPE_STRING dims: [ 1 ] reshape { shape: [ ] } }`;

/** The error of a model that does not load. */
export async function loadError(t: Context, model: RepositoryModel): Promise<TritonError> {
  return rejection(serve(t, { m: model }));
}

/** The elements of an output, as one list. */
export function elements({ outputs }: Pick<InferResult, 'outputs'>, name = 'y'): unknown[] {
  const tensor = outputs[name];
  return tensor === undefined ? [] : (tensor.toArray() as unknown[]).flat(10);
}

/** A request with FP32 rows of a matrix. */
export function matrix(
  name: string,
  rows: readonly (readonly number[])[],
): Record<string, { data: number[]; shape: number[] }> {
  return { [name]: { data: rows.flat(), shape: [rows.length, rows[0]?.length ?? 0] } };
}
