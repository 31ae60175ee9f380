/** `Model.map`: runs a model on a data set, with several items in flight. */

import { checkTimeoutMs } from '../../dispatch/ending/deadlines.js';
import { TritonError } from '../../errors.js';
import { expected, readOptions, show } from '../../argument-checks.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { Mappable, Yielded } from './map-entry.js';
import { MapIterator } from './map-iterator.js';
import { inSequence } from './map-sequence.js';
import { mostNamed } from '../requests/wanted-outputs.js';
import type { MapOptions, RequestedOutput } from '../../api/results.js';

const mapKeys = [
  'concurrency',
  'outputs',
  'signal',
  'ordered',
  'onError',
  'priority',
  'timeoutUs',
  'timeoutMs',
  'withItem',
  'parameters',
  'parent',
  'sequence',
] as const satisfies readonly (keyof MapOptions)[];

/**
 * Implements {@link Model.map}.
 *
 * @param origin - Stack frames of the caller, for errors.
 * @throws {@link TritonError} INVALID_ARG for options or items of the wrong kind.
 */
export function mapModel(
  model: Mappable,
  items: Iterable<Inputs> | AsyncIterable<Inputs>,
  options: MapOptions,
  origin = '',
): AsyncIterableIterator<Yielded> {
  // Each of those that are there is checked below, or for each item.
  const given = readOptions<MapOptions>(options, mapKeys, 'map options') as MapOptions;
  const { concurrency, outputs, signal, ordered, onError, priority, timeoutUs, parameters, parent } = given;
  const { timeoutMs, withItem, sequence } = given;
  if (concurrency !== undefined && (!Number.isSafeInteger(concurrency) || concurrency < 1)) {
    throw new TritonError(
      'INVALID_ARG',
      `expected an integer of at least 1 for map options.concurrency but received ${show(concurrency)}`,
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
  if (ordered !== undefined && typeof (ordered as unknown) !== 'boolean') {
    throw expected('true or false', 'map options.ordered', ordered);
  }
  checkTimeoutMs(model.name, timeoutMs);
  if (withItem !== undefined && typeof (withItem as unknown) !== 'boolean') {
    throw expected('true or false', 'map options.withItem', withItem);
  }
  if (onError !== undefined && !['throw', 'yield'].includes(onError)) {
    throw expected("'throw' or 'yield'", 'map options.onError', onError);
  }
  const source: unknown = items;
  if (
    typeof source !== 'object' ||
    source === null ||
    ArrayBuffer.isView(source) ||
    !(Symbol.iterator in source || Symbol.asyncIterator in source)
  ) {
    throw new TritonError(
      'INVALID_ARG',
      `model '${model.name}': map expected an iterable or async iterable of inputs`,
    );
  }
  const sequenced = sequence === undefined ? { model, items } : inSequence(model, items, sequence);
  return new MapIterator(
    sequenced.model,
    sequenced.items,
    {
      concurrency: sequence === undefined ? concurrency : 1,
      outputs: copied(outputs),
      signal,
      ordered,
      onError,
      priority,
      timeoutUs,
      timeoutMs,
      withItem,
      parameters,
      parent,
    },
    origin,
  );
}

/** A copy of the wanted outputs. They are read and checked for each item when its turn comes. */
function copied(outputs: MapOptions['outputs']): MapOptions['outputs'] {
  // One that is too long is refused unread.
  if (!Array.isArray(outputs) || outputs.length > mostNamed) return outputs;
  return outputs.map((output: unknown) =>
    // Strings are kept, and so are values of a wrong kind.
    typeof output === 'object' && output !== null ? { ...(output as RequestedOutput) } : (output as string),
  );
}
