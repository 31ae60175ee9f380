/**
 * Abilities that the program behind an endpoint may provide: model control, log and trace settings. `tritonts
 * serve` provides them, because its log has settings, and its endpoints may run on threads that cannot load models.
 */

import type { InferenceServer } from '../../server/inference-server.js';
import type { LoadRequest } from './load-request.js';
import type { LogControl } from './log-settings.js';
import type { TraceControl } from './trace-settings.js';

/** Loads and unloads models for endpoints whose own `InferenceServer` cannot. */
export interface ModelControl {
  load(model: string, request: LoadRequest): Promise<void>;
  unload(model: string, unloadDependents: boolean): Promise<void>;
}

/** See the head of this file. */
export interface ServiceHost {
  readonly control?: ModelControl | undefined;
  readonly log?: LogControl | undefined;
  /** Undefined: the server's own settings. */
  readonly trace?: TraceControl | undefined;
}

const hosts = new WeakMap<InferenceServer, ServiceHost>();

/** Sets the host for all endpoints of the server that start later. */
export function provideHost(server: InferenceServer, host: ServiceHost): void {
  hosts.set(server, host);
}

/** The host of a server; usually an empty one. */
export function hostOf(server: InferenceServer): ServiceHost {
  return hosts.get(server) ?? {};
}
