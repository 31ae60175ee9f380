/** Compares the shape that a configuration expects with the shape that the data has. */

import { invalidArgument, type TritonError } from '../errors.js';
import { describe, quote } from './describe.js';
import type { InputPlan } from './plan.js';

/** The largest dimension that Triton's clients and the runtimes agree on. */
export const maxDim: number = 2 ** 31 - 1;

/** No tensor has a higher rank, so a longer shape is not read to its end. */
const maxRank = 1024;

/** A shape in messages: `[1,3,224,224]`. */
export function formatShape(shape: readonly (number | string)[]): string {
  return `[${shape.join(',')}]`;
}

/**
 * The number of elements in a tensor of a shape: 1 for rank 0, and 0 if any dim is 0. It is inexact above 2^53,
 * which no data reaches.
 */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const dim of shape) {
    // Without this check, Infinity times 0 would be NaN.
    if (dim === 0) return 0;
    count *= dim;
  }
  return count;
}

/** The shape that a request must have, with `N` for the batch: `[N,3,224,224], 1 ≤ N ≤ 8`. */
export function expectedShape(plan: InputPlan): string {
  if (plan.maxBatchSize === 0) return formatShape(plan.dims);
  const range = plan.maxBatchSize === 1 ? 'N = 1' : `1 ≤ N ≤ ${plan.maxBatchSize}`;
  return `${formatShape(['N', ...plan.dims])}, ${range}`;
}

/** The INVALID_ARG error for an input, with the expected shape and the value that came. */
export function mismatch(plan: InputPlan, got: string): TritonError {
  return refusal(plan, `expected ${plan.datatype} of shape ${expectedShape(plan)}, but got ${got}`);
}

/** The INVALID_ARG error for an input. */
export function refusal(plan: InputPlan, text: string, cause?: unknown): TritonError {
  const about = { model: plan.model, tensor: plan.name };
  const message = `model ${quote(plan.model)}, ${plan.noun} ${quote(plan.name)}: ${text}`;
  return invalidArgument(message, cause === undefined ? about : { ...about, cause });
}

/** Whether the configuration's dims allow `shape` from index `from` on. */
function dimsFit(plan: InputPlan, shape: readonly number[], from: number): boolean {
  if (shape.length !== plan.dims.length + from) return false;
  return plan.dims.every((dim, i) => dim === -1 || dim === shape[i + from]);
}

/** Whether the model takes the shape's batch. A model without a batch dimension takes any shape here. */
function batchFits(plan: InputPlan, shape: readonly number[]): boolean {
  const batch = shape[0] ?? 0;
  return plan.maxBatchSize === 0 || (batch >= 1 && batch <= plan.maxBatchSize);
}

/** Throws INVALID_ARG unless the configuration allows the shape, batch dimension included. */
export function checkShape(plan: InputPlan, shape: readonly number[]): void {
  if (!dimsFit(plan, shape, plan.batchRank) || !batchFits(plan, shape)) throw shapeError(plan, shape);
}

/** The error for a shape that does not fit. */
export function shapeError(plan: InputPlan, shape: readonly number[]): TritonError {
  const got = formatShape(shape);
  if (plan.maxBatchSize > 0 && shape.length === plan.dims.length) {
    const hint = dimsFit(plan, shape, 0) ? `; for one item pass ${formatShape([1, ...shape])}` : '';
    return refusal(plan, `shape ${got}: expected ${expectedShape(plan)}${hint}`);
  }
  if (dimsFit(plan, shape, plan.batchRank)) return batchError(plan, shape[0] ?? 0, `shape ${got}`);
  return mismatch(plan, `shape ${got}`);
}

/** Advice for a `max_batch_size` that auto-completion set. A user who wrote the limit needs no advice. */
function batchAdvice({ batchSizeCompleted: from, maxBatchSize, backend }: InputPlan, batch: number): string {
  if (from === false) return '';
  const completed = `, which was completed to ${maxBatchSize}`;
  // Only TensorRT plans complete it from the model.
  if (from === 'model') {
    return (
      `${completed}, the most rows of the plan's profiles that its instances use: ` +
      'name another profile in instance_group, or build the plan with one for larger batches'
    );
  }
  return (
    `${completed}, the default, because the model's config.pbtxt says nothing: ` +
    `write max_batch_size: ${batch} there, or for all models ` +
    `backendConfig: { ${backend}: { 'default-max-batch-size': ${batch} } }`
  );
}

function batchError(plan: InputPlan, batch: number, got: string): TritonError {
  if (batch === 0) return mismatch(plan, `${got}: a batch of 0`);
  return mismatch(plan, `${got}: a batch of ${batch} is over max_batch_size${batchAdvice(plan, batch)}`);
}

/** The caller's `shape`. Each dim is read once and checked. */
export function readShape(plan: InputPlan, value: unknown): number[] {
  if (!Array.isArray(value)) {
    throw mismatch(plan, `${describe(value)} for 'shape', which must be an array of integers`);
  }
  const given: readonly unknown[] = value;
  const rank: unknown = given.length;
  // Only a proxy's length can be something other than an integer.
  if (typeof rank !== 'number' || !Number.isInteger(rank) || rank < 0 || rank > maxRank) {
    throw mismatch(plan, `a shape of rank ${describe(rank)}`);
  }
  const shape: number[] = [];
  for (let i = 0; i < rank; i++) {
    const dim = given[i];
    if (typeof dim !== 'number' || !Number.isInteger(dim) || dim < 0 || dim > maxDim) {
      throw mismatch(plan, `${describe(dim)} at shape[${i}], which must be an integer from 0 to ${maxDim}`);
    }
    shape.push(dim);
  }
  return shape;
}

/** Describes flat data in messages. */
export function wordsOf(value: unknown, count: number): string {
  return Array.isArray(value) ? `an array of length ${count}` : describe(value);
}

/**
 * The shape of flat data without a shape, from the configured dims.
 *
 * @param count - How many elements the data has.
 * @param batch - The batch of the other inputs, or 0 if no input gives it. It is only used with one variable
 *   dim.
 * @param value - The value that the caller passed, for messages.
 */
export function cutShape(plan: InputPlan, count: number, batch: number, value: unknown): number[] {
  if (plan.variableDims > 1) {
    const dims = `${plan.variableDims} variable dims`;
    throw mismatch(plan, `${wordsOf(value, count)}: for ${dims} pass { data, shape }`);
  }
  if (plan.variableDims === 1) {
    const items = plan.batchRank === 0 || batch === 0 ? 1 : batch;
    const rest = count / (items * plan.fixedCount);
    if (!Number.isInteger(rest) || rest > maxDim) {
      const why = items === 1 ? '' : `, and the batch of other inputs is ${items}`;
      throw mismatch(plan, `${wordsOf(value, count)}${why}`);
    }
    const dims = plan.dims.map((dim) => (dim === -1 ? rest : dim));
    if (plan.batchRank === 1) dims.unshift(items);
    return dims;
  }
  if (plan.batchRank === 0) {
    if (count !== plan.fixedCount) throw mismatch(plan, wordsOf(value, count));
    return [...plan.dims];
  }
  const items = count / plan.fixedCount;
  if (!Number.isInteger(items)) throw mismatch(plan, wordsOf(value, count));
  if (items < 1 || items > plan.maxBatchSize) throw batchError(plan, items, wordsOf(value, count));
  return [items, ...plan.dims];
}
