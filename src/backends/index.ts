/** The backends there are. */

import { addon } from '../addon/load.js';
import type { Backend, BackendContext } from './backend.js';
import { identity } from './identity.js';
import { onnxruntime } from './onnxruntime.js';

const described: ReadonlyMap<string, Backend> = new Map(
  [onnxruntime, identity].map((backend) => [backend.name, backend]),
);

/** A backend that only a test build of the addon has: it gets a model's parameters as they are. */
function undescribed(name: string): Backend {
  return {
    name,
    needsFile: false,
    optionKeys: [],
    settings({ config }: BackendContext): Record<string, string> {
      return Object.fromEntries(
        Object.entries(config.parameters).map(([key, { string_value }]) => [key, string_value]),
      );
    },
  };
}

let present: ReadonlyMap<string, Backend> | undefined;

/**
 * Backends that the addon has, by the name that a config's `backend` gives.
 *
 * @throws {TritonError} UNAVAILABLE when the addon cannot be loaded.
 */
export function backends(): ReadonlyMap<string, Backend> {
  present ??= new Map(
    addon()
      .backends()
      .map((name) => [name, described.get(name) ?? undescribed(name)]),
  );
  return present;
}
