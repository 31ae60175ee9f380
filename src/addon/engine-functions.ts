/** The functions of the addon that belong to a server's engine, for engines of different makes in one process. */

import { addon } from './load.js';
import type { NativeAddon } from './native/addon.js';
import type { NativeServer } from './native/server.js';

/** See the head of this file. */
export type EngineFunctions = Pick<
  NativeAddon,
  | 'attachInstance'
  | 'backends'
  | 'engineId'
  | 'latencyBoundsNs'
  | 'pluginMetrics'
  | 'releaseInstances'
  | 'reserveInstances'
  | 'settleInstances'
>;

const others = new WeakMap<NativeServer, EngineFunctions>();

/** Notes that an engine is not the addon's, and brings its own functions. */
export function bringFunctions(server: NativeServer, functions: EngineFunctions): void {
  others.set(server, functions);
}

/**
 * The functions of a server's engine.
 *
 * @throws {@link TritonError} UNAVAILABLE if they are the addon's, which cannot be loaded.
 */
export function functionsOf(server: NativeServer): EngineFunctions {
  return others.get(server) ?? addon();
}
