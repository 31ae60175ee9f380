/**
 * `Model.map` over the requests of a sequence: one item is in flight at a time, the first one that is sent starts the
 * sequence, and the last one ends it.
 */

import type { MapOptions } from '../../api/results.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { CheckedOptions } from '../requests/infer-options.js';
import type { Mappable } from './map-entry.js';

/** See the head of this file. */
export interface SequencedMap {
  readonly model: Mappable;
  readonly items: AsyncIterable<Inputs>;
}

/**
 * The model and the items of one map, whose concurrency must be 1: each item is sent with its flags.
 *
 * @throws {@link TritonError} INVALID_ARG or UNSUPPORTED for a wrong sequence.
 */
export function inSequence(
  model: Mappable,
  items: Iterable<Inputs> | AsyncIterable<Inputs>,
  sequence: NonNullable<MapOptions['sequence']>,
): SequencedMap {
  model.check({ sequence });
  // Copied, because the caller may change it meanwhile.
  const { id } = sequence;
  const start = sequence.start ?? false;
  const end = sequence.end ?? false;
  /** Whether an item was sent, and whether one before the current item was. */
  let sent = false;
  let begun = false;
  let isLast = false;

  async function* inOrder(): AsyncGenerator<Inputs, void, undefined> {
    // The last item is known when there is no other one after it.
    const held: Inputs[] = [];
    try {
      for await (const item of items) {
        held.push(item);
        if (end && held.length === 1) continue;
        yield* held.splice(0, 1);
        // A refused item is sent again with the same flags.
        begun = sent;
      }
    } catch (error) {
      // Those before the error are sent. The sequence goes on.
      yield* held;
      throw error;
    }
    isLast = end;
    yield* held;
  }

  /** The checked options of an item, by whether it starts and whether it ends the sequence. */
  const checked = new Map<string, CheckedOptions>();
  const keyOf = (starts: boolean, ends: boolean): string => `${starts} ${ends}`;
  return {
    items: inOrder(),
    model: {
      name: model.name,
      defaultConcurrency: 1,
      cancelAll: (owner) => {
        model.cancelAll(owner);
      },
      check: (options) => {
        const check = (starts: boolean, ends: boolean): CheckedOptions => {
          const own = model.check({ ...options, sequence: { id, start: starts, end: ends } });
          checked.set(keyOf(starts, ends), own);
          return own;
        };
        check(true, true);
        check(true, false);
        check(false, true);
        return check(false, false);
      },
      sendChecked: (inputs, options, waiter, origin) => {
        const own = checked.get(keyOf(start && !begun, isLast)) ?? options;
        // The iteration has added these.
        const { owner, signal } = options.request;
        const request = { ...own.request, owner, signal };
        model.sendChecked(inputs, { ...own, request }, waiter, origin);
        sent = true;
      },
    },
  };
}
