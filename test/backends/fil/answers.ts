/** The answers of the frameworks to their models, as `train.py` records them. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileOfType } from '../../../src/backends/fil/rules.js';
import { root } from '../../support/project.js';
import type { RepositoryModel } from '../../support/repository.js';
import { configText, type ConfigOptions } from '../../support/harness.js';

/** A model, with its framework's answers to {@link TreeModel.asked}. */
export interface TreeModel {
  readonly name: string;
  readonly file: string;
  /** The value of `model_type`. */
  readonly type: string;
  /** The values of an answer to a row. */
  readonly columns: number;
  /** The answers, row by row. */
  readonly values: readonly number[];
  /** SHAP values, row by row. */
  readonly contributions?: readonly number[];
  /** Of a model that answers with a class: the probabilities of all classes, row by row. */
  readonly probabilities?: readonly number[];
  /** Whether the rows were asked for with 0 in place of NaN. */
  readonly filled?: boolean;
  /** The rows, NaN where a value is missing. */
  readonly asked: readonly Float32Array<ArrayBuffer>[];
  readonly features: number;
  /** The model's file. */
  readonly content: Uint8Array;
}

/** The content of a file of answers. */
interface Recorded {
  readonly rows: Readonly<Record<string, readonly (readonly (number | null)[])[]>>;
  readonly models: readonly (Omit<TreeModel, 'asked' | 'features' | 'content'> & { readonly rows: string })[];
}

/** The folder of the models that are in the repository. */
export const fixtures: string = join(root, 'test', 'backends', 'fil', 'fixtures');

/** The models of a folder that `train.py` or `train_legacy.py` wrote. */
export async function readAnswers(folder: string, file = 'answers.json'): Promise<TreeModel[]> {
  const recorded = JSON.parse(await readFile(join(folder, file), 'utf8')) as Recorded;
  return Promise.all(
    recorded.models.map(async ({ rows, ...model }) => {
      const missing = model.filled === true ? 0 : NaN;
      const asked = (recorded.rows[rows] ?? []).map((row) => Float32Array.from(row, (x) => x ?? missing));
      const content = await readFile(join(folder, model.file));
      return { ...model, asked, features: asked[0]?.length ?? 0, content };
    }),
  );
}

/** All models of the repository. */
export const treeModels: readonly TreeModel[] = [
  ...(await readAnswers(fixtures)),
  ...(await readAnswers(fixtures, 'legacy.json')),
];

/** A model of the repository. */
export function treeModel(name: string): TreeModel {
  const found = treeModels.find((one) => one.name === name);
  assert.ok(found, `there is no model '${name}'`);
  return found;
}

/** Options of {@link trees}. */
export interface TreeOptions extends Omit<ConfigOptions, 'backend' | 'inputs' | 'outputs'> {
  /** The values of `output__0` for a row (default: those of the answers). */
  readonly columns?: number;
  /** The values of `treeshap_output` for a row (default: it is no output). */
  readonly shap?: number | undefined;
}

/** A model with a configuration. */
export function trees(model: TreeModel, options: TreeOptions = {}): RepositoryModel {
  const { columns = model.columns, shap, parameters, ...rest } = options;
  const config = configText({
    ...rest,
    backend: 'fil',
    inputs: [{ name: 'input__0', dims: [model.features] }],
    outputs: [
      { name: 'output__0', dims: [columns] },
      ...(shap === undefined ? [] : [{ name: 'treeshap_output', dims: [shap] }]),
    ],
    parameters: { model_type: model.type, ...parameters },
  });
  return { config, versions: withoutConfig(model).versions ?? {} };
}

/** A model without a configuration. */
export function withoutConfig({ type, content }: TreeModel): RepositoryModel {
  return { versions: { '1': { [fileOfType[type] ?? '']: content } } };
}

/** The rows of a model, one after the other. */
export function allRows({ asked }: TreeModel): Float32Array<ArrayBuffer> {
  return Float32Array.from(asked.flatMap((row) => [...row]));
}

/** Fails unless each number is within `tolerance` of the expected one, in parts of it if it is above 1. */
export function assertClose(
  actual: ArrayLike<number>,
  expected: readonly number[],
  message: string,
  tolerance = 1e-6,
): void {
  assert.equal(actual.length, expected.length, `${message}: the number of values`);
  for (const [index, value] of expected.entries()) {
    const difference = Math.abs((actual[index] ?? NaN) - value);
    assert.ok(
      difference <= tolerance * Math.max(1, Math.abs(value)),
      `${message}: value ${index} is ${actual[index]}, but the framework says ${value}`,
    );
  }
}
