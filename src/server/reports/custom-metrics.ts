/** The application's own metrics of a server, for endpoints that look for some of them: the text of all models' takes long. */

import type { CustomMetrics } from '../../metrics/custom.js';

const ofServers = new WeakMap<object, CustomMetrics>();

/** Says which metrics are a server's. */
export function showCustomMetrics(server: object, metrics: CustomMetrics): void {
  ofServers.set(server, metrics);
}

/** The metrics of a server. */
export function customMetricsOf(server: object): CustomMetrics | undefined {
  return ofServers.get(server);
}
