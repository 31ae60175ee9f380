/**
 * Triton's rules for `model_warmup`: rules for a sample alone, and rules that compare it with the model's
 * inputs.
 */

import { isAbsolute, win32 } from 'node:path';
import { didYouMean } from '../../suggest.js';
import { fieldPath, indexPath, keyPath } from '../schema/paths.js';
import type { ModelConfig, ModelInput, ModelWarmup, ModelWarmupInput } from '../schema/types.js';
import type { Report } from '../text/problems.js';
import { shapeText } from './description.js';
import { leadsOut } from './leads-out.js';
import { sequenceTensorsOf } from './sequence-tensors.js';

/** Checks the samples alone. */
export function validateWarmup(config: ModelConfig, report: Report): void {
  config.model_warmup.forEach((sample, index) => {
    const inputs = fieldPath(indexPath('model_warmup', index), 'inputs');
    for (const [name, input] of Object.entries(sample.inputs)) {
      const path = keyPath(inputs, name);
      if (input.data_type === 'TYPE_INVALID') report(fieldPath(path, 'data_type'), 'missing');
      if (input.dims.some((dim) => dim < 0)) {
        report(fieldPath(path, 'dims'), `a sample has a fixed shape but found ${shapeText(input.dims)}`);
      }
      validateData(input, path, report);
    }
  });
}

function validateData(input: ModelWarmupInput, path: string, report: Report): void {
  const { zero_data: zero, random_data: random, input_data_file: file } = input;
  const kinds = [zero, random, file].filter((kind) => kind !== undefined).length;
  if (kinds !== 1) {
    const found = kinds === 0 ? '' : ` but found ${kinds}`;
    report(path, `write one of zero_data, random_data and input_data_file${found}`);
  }
  if (file === undefined) return;
  const shown = JSON.stringify(file);
  const at = fieldPath(path, 'input_data_file');
  if (file === '') report(at, "missing: write the name of a file in the model's folder 'warmup'");
  else if (isAbsolute(file) || win32.isAbsolute(file)) {
    report(at, `expected a path in the model's folder 'warmup' but found the absolute path ${shown}`);
  } else if (leadsOut(file)) report(at, `${shown} leads out of the model's folder 'warmup'`);
}

/**
 * Compares the samples that will run with the model's inputs.
 *
 * @param config - Complete.
 */
export function validateWarmupInputs(config: ModelConfig, report: Report): void {
  const most = Math.max(1, config.max_batch_size);
  config.model_warmup.forEach((sample, index) => {
    // As in Triton, a sample with batch size 0 is ignored, whatever its other fields are.
    if (sample.batch_size === 0) return;
    const path = indexPath('model_warmup', index);
    if (sample.batch_size > most) {
      report(
        fieldPath(path, 'batch_size'),
        config.max_batch_size === 0
          ? `the model does not batch (max_batch_size: 0): expected 1 but found ${sample.batch_size}`
          : `expected at most ${most}, the model's max_batch_size, but found ${sample.batch_size}`,
      );
    }
    compareInputs(config, sample, fieldPath(path, 'inputs'), report);
  });
}

function compareInputs(config: ModelConfig, sample: ModelWarmup, path: string, report: Report): void {
  const known = new Map<string, SampledInput>([
    ...config.input.map((input) => [input.name, input] as const),
    // As in Triton, a sample may give values of controls and states.
    ...sequenceTensorsOf(config).inputs.map((input) => [input.name, input] as const),
  ]);
  for (const [name, given] of Object.entries(sample.inputs)) {
    const input = known.get(name);
    if (input) compareInput(input, given, keyPath(path, name), report);
    else {
      const names = [...known.keys()].map((one) => JSON.stringify(one)).join(', ');
      report(
        keyPath(path, name),
        `the model has no input ${JSON.stringify(name)}${didYouMean(name, known.keys())}; its inputs are ${names}`,
      );
    }
  }
  const missing = config.input.filter(
    ({ name, optional }) => !optional && !Object.hasOwn(sample.inputs, name),
  );
  if (missing.length === 0) return;
  report(path, `missing: ${missing.map(({ name }) => JSON.stringify(name)).join(', ')}`);
}

/** An input that a sample may have. */
type SampledInput = Pick<ModelInput, 'name' | 'data_type' | 'dims'>;

function compareInput(input: SampledInput, given: ModelWarmupInput, path: string, report: Report): void {
  if (given.data_type !== input.data_type) {
    report(
      fieldPath(path, 'data_type'),
      `expected ${input.data_type}, the input's type, but found ${given.data_type}`,
    );
  }
  const fits =
    given.dims.length === input.dims.length &&
    input.dims.every((dim, i) => dim === -1 || dim === given.dims[i]);
  if (fits) return;
  report(
    fieldPath(path, 'dims'),
    `expected dims of ${shapeText(input.dims)}, the input's, but found ${shapeText(given.dims)}`,
  );
}
