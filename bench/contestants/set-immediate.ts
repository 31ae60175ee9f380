/** The yardstick for our own overhead: a promise that the event loop's next turn resolves, and nothing else. */
import type { Caller } from './contestant.js';

const nothing = new Float32Array(16);

/** Resolves with nothing. */
export function openSetImmediate(): Caller {
  return {
    kind: 'caller',
    name: 'setImmediate',
    infer: () => new Promise((resolve) => setImmediate(resolve)),
    read: () => nothing,
    close: () => Promise.resolve(),
  };
}
