/** An item of `Model.map`, from its request to its outcome. */

import { show } from '../../argument-checks.js';
import type { Waiter } from '../../dispatch/types.js';
import { TritonError } from '../../errors.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { CheckedOptions } from '../requests/infer-options.js';
import type { InferOptions, InferResult, MapOutcome } from '../../api/results.js';

/** The part of a model that `map` needs. */
export interface Mappable {
  readonly name: string;
  readonly defaultConcurrency: number;
  check(options: InferOptions): CheckedOptions;
  cancelAll(owner: object): void;
  sendChecked(inputs: Inputs, options: CheckedOptions, waiter: Waiter<InferResult>, origin: string): void;
}

/**
 * What the iterator yields: a result, or an outcome with its index if errors are yielded or the order is not
 * kept.
 */
export type Yielded = InferResult | MapOutcome;

/** An item with its outcome. It is used again for other items. */
export interface Entry extends Waiter<InferResult> {
  /** Position of the item in the source, from 0. */
  index: number;
  inputs: Inputs;
  /** Those of the iteration, or with a time-out of its own. */
  options: CheckedOptions | undefined;
  /** How many entries had ended when it was sent. */
  endedBefore: number;
  state: 'under way' | 'done' | 'failed';
  result: InferResult | undefined;
  error: unknown;
}

/** The inputs of an entry that holds no item. */
export const noInputs: Inputs = Object.freeze({});

/**
 * An item's error with its position. Items may share an error, which then stays another one's. An error that a caller's
 * getter threw and that takes no properties stays as it is.
 */
export function withIndex(error: TritonError, index: number): TritonError {
  if (!Object.isExtensible(error)) return error;
  if (error.index === undefined) return Object.assign(error, { index });
  return Object.assign(new TritonError(error.code, error.message, error), { index });
}

/** The error to yield for an item. A caller's getter may throw anything. */
export function itemError(model: string, index: number, error: unknown): TritonError {
  if (error instanceof TritonError) return error;
  const reason = error instanceof Error ? error.message : show(error);
  return new TritonError('INVALID_ARG', `model '${model}': item ${index} cannot be read: ${reason}`, {
    model,
    cause: error,
  });
}
