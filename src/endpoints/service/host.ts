/**
 * What endpoints of a server can do besides asking it: whoever starts them may bring it. `tritonts serve` does, since its log
 * has settings, and its endpoints may run on threads from which models cannot be loaded.
 */

import type { InferenceServer } from '../../server/inference-server.js';
import type { LoadRequest } from './load-request.js';
import type { LogControl } from './log-settings.js';

/** Loads and unloads models where the server's own connection cannot. */
export interface ModelControl {
  load(model: string, request: LoadRequest): Promise<void>;
  unload(model: string, unloadDependents: boolean): Promise<void>;
}

/** See the head of this file. */
export interface ServiceHost {
  readonly control?: ModelControl | undefined;
  readonly log?: LogControl | undefined;
}

const hosts = new WeakMap<InferenceServer, ServiceHost>();

/** Lets endpoints of a server that are started from now on use this. */
export function provideHost(server: InferenceServer, host: ServiceHost): void {
  hosts.set(server, host);
}

/** What endpoints of a server may use; nothing, as a rule. */
export function hostOf(server: InferenceServer): ServiceHost {
  return hosts.get(server) ?? {};
}
