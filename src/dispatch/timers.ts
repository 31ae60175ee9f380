/**
 * The event loop's own setImmediate, taken when the package is loaded: programs' tests replace the global one, and with
 * `syncBuiltinESMExports` what modules have imported. Without turns of the loop no answer comes.
 */

import timers from 'node:timers';

export const setImmediate: typeof timers.setImmediate = timers.setImmediate;
