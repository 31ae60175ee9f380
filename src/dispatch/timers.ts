/**
 * The event loop's own setImmediate, taken when the package is loaded. Programs' tests replace the global
 * one, and with `syncBuiltinESMExports` the one that modules import. Without turns of the event loop no
 * response would be delivered.
 */

import timers from 'node:timers';

export const setImmediate: typeof timers.setImmediate = timers.setImmediate;
