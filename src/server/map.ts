/** `Model.map`: a data set through a model, several items in flight, results in order. */

import { TritonError } from '../errors.js';
import { checkKeys, checkObject } from '../checks.js';
import type { Inputs } from '../tensor/types.js';
import { MapIterator, type Mappable } from './map-iterator.js';
import type { InferResult, MapOptions } from './types.js';

const mapKeys: readonly string[] = [
  'concurrency',
  'outputs',
  'signal',
] satisfies readonly (keyof MapOptions)[];

/**
 * See {@link Model.map}.
 *
 * @param origin - Frames of the caller, for the stacks of failures.
 * @throws {TritonError} INVALID_ARG for options or items of the wrong kind.
 */
export function mapModel(
  model: Mappable,
  items: Iterable<Inputs> | AsyncIterable<Inputs>,
  options: MapOptions,
  origin = '',
): AsyncIterableIterator<InferResult> {
  checkObject(options, 'map options');
  checkKeys(options, mapKeys, 'map options');
  const { concurrency, signal } = options;
  if (concurrency !== undefined && (!Number.isSafeInteger(concurrency) || concurrency < 1)) {
    throw new TritonError(
      'INVALID_ARG',
      `expected an integer of at least 1 for map options.concurrency but received ${String(concurrency)}`,
    );
  }
  if (signal !== undefined && !((signal as unknown) instanceof AbortSignal)) {
    throw new TritonError(
      'INVALID_ARG',
      `model '${model.name}': expected an AbortSignal for map options.signal`,
      {
        model: model.name,
      },
    );
  }
  const given: unknown = items;
  if (
    typeof given !== 'object' ||
    given === null ||
    !(Symbol.iterator in given || Symbol.asyncIterator in given)
  ) {
    throw new TritonError(
      'INVALID_ARG',
      `model '${model.name}': map expected an iterable or async iterable of inputs`,
    );
  }
  return new MapIterator(model, items, options, origin);
}
