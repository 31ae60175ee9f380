/**
 * The event loop's own timers, saved when the package is loaded. Test frameworks replace the global timers, and
 * with `syncBuiltinESMExports` also the imported ones. Without real turns of the event loop no response would
 * be delivered.
 */

import timers from 'node:timers';

export const setImmediate: typeof timers.setImmediate = timers.setImmediate;
export const setInterval: typeof timers.setInterval = timers.setInterval;
export const clearInterval: typeof timers.clearInterval = timers.clearInterval;
export const setTimeout: typeof timers.setTimeout = timers.setTimeout;
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout;
