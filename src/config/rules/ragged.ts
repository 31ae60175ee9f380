/** Triton's rules for batches of unequal shapes: `allow_ragged_batch`, `batch_input` and `batch_output`. */

import { enumNames } from '../schema/fields.js';
import { fieldPath, indexPath } from '../schema/paths.js';
import type { Report } from '../text/problems.js';
import type { BatchInput, BatchInputKind, ModelConfig, ModelOutput } from '../schema/types.js';
import { shapeText } from './description.js';
import { fullDims } from './shape-tensors.js';

/** Triton's `BatchInput.Kind` by number. */
export const batchInputKinds: readonly string[] = enumNames('BatchInput.Kind');

/** The number of dims of a tensor that is made from a batch. */
export function batchInputRank(kind: BatchInputKind): number {
  return kind === 'BATCH_ITEM_SHAPE' ? 2 : 1;
}

/** Whether a model runs batches of unequal shapes. Then its tensors need not all have one row for each row. */
export function isRagged({ input, batch_input: made, batch_output: split }: ModelConfig): boolean {
  return made.length > 0 || split.length > 0 || input.some((one) => one.allow_ragged_batch);
}

/**
 * Checks `batch_input` and `batch_output` against the declared inputs and outputs.
 *
 * @param completed - Whether missing sections have been completed. Before that, outputs may be missing.
 */
export function validateRagged(config: ModelConfig, completed: boolean, report: Report): void {
  const made = new Map<string, string>();
  config.batch_input.forEach((one, index) => {
    const path = indexPath('batch_input', index);
    checkSource(config, one.source_input, path, report);
    checkMade(config, one, path, made, report);
  });
  config.batch_output.forEach((one, index) => {
    const path = indexPath('batch_output', index);
    checkSource(config, one.source_input, path, report);
    one.target_name.forEach((target, position) => {
      const at = indexPath(fieldPath(path, 'target_name'), position);
      if (one.target_name.indexOf(target) < position) report(at, `${JSON.stringify(target)} is listed twice`);
      const output = config.output.find(({ name }) => name === target);
      if (output !== undefined) checkSplit(config, output, one.source_input, at, report);
      else if (completed || config.output.length > 0)
        report(at, `${JSON.stringify(target)} is not a declared output`);
    });
  });
}

function checkSource(config: ModelConfig, sources: readonly string[], path: string, report: Report): void {
  const at = fieldPath(path, 'source_input');
  const [source] = sources;
  if (sources.length !== 1 || source === undefined) {
    report(at, `expected one name but found ${sources.length}`);
  } else if (!config.input.some(({ name }) => name === source)) {
    report(at, `${JSON.stringify(source)} is not a declared input`);
  }
}

/** @param made - The paths of the targets so far, by name. */
function checkMade(
  config: ModelConfig,
  { data_type: type, target_name: targets }: BatchInput,
  path: string,
  made: Map<string, string>,
  report: Report,
): void {
  if (type !== 'TYPE_INT32' && type !== 'TYPE_FP32')
    report(fieldPath(path, 'data_type'), `expected TYPE_INT32 or TYPE_FP32 but found ${type}`);
  targets.forEach((target, position) => {
    const at = indexPath(fieldPath(path, 'target_name'), position);
    const first = made.get(target);
    if (first !== undefined) report(at, `${JSON.stringify(target)} is made by ${first} too`);
    else made.set(target, at);
    const input = config.input.findIndex(({ name }) => name === target);
    if (input >= 0) {
      report(
        at,
        `${JSON.stringify(target)} is sent by callers, because ${indexPath('input', input)} declares it`,
      );
    }
  });
}

/** Checks that the source has a dim for each variable dim of an output that is split by its shapes. */
function checkSplit(
  config: ModelConfig,
  output: ModelOutput,
  [source]: readonly string[],
  at: string,
  report: Report,
): void {
  const name = JSON.stringify(output.name);
  if (output.data_type === 'TYPE_STRING') {
    report(at, `${name} has strings, which cannot be split by a shape`, 'UNSUPPORTED');
  }
  const input = config.input.find((one) => one.name === source);
  if (input === undefined) return;
  const from = fullDims(config, input, input.reshape?.shape);
  const to = fullDims(config, output, output.reshape?.shape);
  if (to.lastIndexOf(-1) < from.length) return;
  const batch = config.max_batch_size > 0 ? ', with the batch,' : '';
  report(
    at,
    `${name} has the shape ${shapeText(to)}${batch} and takes its variable dims from the same places of ` +
      `${JSON.stringify(input.name)}, which has only ${shapeText(from)}`,
  );
}
