/**
 * The event loop's own timers, taken when the package is loaded. Programs' tests replace the global
 * ones, and with `syncBuiltinESMExports` those that modules import. Without turns of the event loop no
 * response would be delivered.
 */

import timers from 'node:timers';

export const setImmediate: typeof timers.setImmediate = timers.setImmediate;
export const setTimeout: typeof timers.setTimeout = timers.setTimeout;
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout;
