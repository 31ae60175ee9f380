/**
 * A yardstick for the overhead of tritonts: a promise that resolves in the event loop's next turn, and
 * nothing else.
 */
import type { Caller } from './contestant.js';

const nothing = new Float32Array(16);

/** A contestant whose requests resolve in the next turn, without work. */
export function openSetImmediate(): Caller {
  return {
    kind: 'caller',
    name: 'setImmediate',
    infer: () => new Promise((resolve) => setImmediate(resolve)),
    read: () => nothing,
    close: () => Promise.resolve(),
  };
}
