/** Tells `node:diagnostics_channel` of sequences. */

import { channel } from 'node:diagnostics_channel';

/**
 * A message of the channels `tritonts:sequence:start` and `tritonts:sequence:end`. The messages of one sequence are the
 * same object. A message of `tritonts:sequence:idle` is an object of its own.
 */
export interface SequenceMessage {
  /** Name of the model. */
  readonly model: string;
  /** The version that the sequence asked for; undefined: the newest ready one. Of `idle`: the version that had it. */
  readonly version: string | undefined;
  /** The correlation id. */
  readonly id: bigint | string;
  /** What ended it before `end()` did: the error of a request, or its signal's. */
  error?: unknown;
}

const start = channel('tritonts:sequence:start');
const end = channel('tritonts:sequence:end');

/** Tells that the first request of a sequence was sent. Subscribers run in here. */
export function tellStart(message: SequenceMessage): void {
  start.publish(message);
}

/** Tells that a sequence has ended. Subscribers run as a microtask, so that they find no request half delivered. */
export function tellEnd(message: SequenceMessage): void {
  queueMicrotask(() => {
    end.publish(message);
  });
}
