/** The families of the rate limiter's resources. */

import type { NativeResource } from '../addon/native/statistics.js';
import { labelText, type Exposition } from './exposition.js';

const families: readonly (readonly [name: string, help: string, key: 'count' | 'inUse' | 'waiting'])[] = [
  ['tritonts_rate_limit_resource_total', 'Units of a resource that instances share', 'count'],
  ['tritonts_rate_limit_resource_used', 'Units that batches have now', 'inUse'],
  ['tritonts_rate_limit_resource_waiting', 'Instances that wait for units', 'waiting'],
];

/** Adds the families; nothing without a rate limiter. A global resource has no label for the device. */
export function addResources(text: Exposition, resources: readonly NativeResource[]): void {
  if (resources.length === 0) return;
  for (const [name, help, key] of families) {
    text.family(name, 'gauge', help);
    for (const resource of resources) {
      const { name: of, device } = resource;
      const labels = { resource: of, ...(device !== undefined && { device: String(device) }) };
      text.add(name, labelText(labels), resource[key]);
    }
  }
}
