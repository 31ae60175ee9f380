/** The table of backends. */

import { addon } from '../addon/load.js';
import type { Backend, BackendContext } from './backend.js';
import { identity } from './identity.js';
import { javascript } from './javascript.js';
import { onnxruntime } from './onnxruntime.js';
import { python } from './python.js';
import { tensorrt } from './tensorrt.js';

const described: ReadonlyMap<string, Backend> = new Map(
  [onnxruntime, identity, javascript, python, tensorrt].map((backend) => [backend.name, backend]),
);

/** A backend that only a test build of the addon has. It receives a model's parameters unchanged. */
function undescribed(name: string): Backend {
  return {
    name,
    opens: 'native',
    decoupled: true,
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
 * The addon's backends, by the name in a configuration's `backend`.
 *
 * @throws {@link TritonError} UNAVAILABLE if the addon cannot be loaded.
 */
export function backends(): ReadonlyMap<string, Backend> {
  present ??= new Map(
    addon()
      .backends()
      .map((name) => [name, described.get(name) ?? undescribed(name)]),
  );
  return present;
}
