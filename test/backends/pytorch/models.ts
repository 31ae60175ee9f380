/** The models of the fixtures, which make_models.cc has written with libtorch. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { InferenceServer, InferResult, ServerOptions, TritonError } from '../../../src/index.js';
import {
  configText,
  rejection,
  serve as serveModels,
  type ConfigOptions,
  type Context,
} from '../../support/harness.js';
import { root } from '../../support/project.js';
import { needsPyTorch, needsTorchPython, torchPython } from '../../support/pytorch.js';
import type { Files, RepositoryModel } from '../../support/repository.js';

export { needsPyTorch };

/** What runs a model. */
export type Way = 'libtorch' | 'python';

/** What runs the models of the present test. Tests of a file run one after the other. */
let present: Way = 'libtorch';

/** A test for each way to run its models: by libtorch, and by Python's torch. */
export function eachWay(name: string, run: (t: TestContext, way: Way) => Promise<void>): void {
  for (const [way, { skip }] of [
    ['libtorch', needsPyTorch],
    ['python', needsTorchPython],
  ] as const) {
    test(`${name} (${way})`, { skip }, async (t) => {
      present = way;
      try {
        await run(t, way);
      } finally {
        present = 'libtorch';
      }
    });
  }
}

/** A server of these models, with the Python that has torch. */
export function serve(
  t: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  const { backendConfig = {} } = options;
  const python = torchPython === undefined ? {} : { python: { executable: torchPython } };
  return serveModels(t, models, { ...options, backendConfig: { ...python, ...backendConfig } });
}

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
    parameters: { runtime: present, ...options.parameters },
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
