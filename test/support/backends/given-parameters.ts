/** Settings of tests' backends. */

import type { BackendContext } from '../../../src/backends/context.js';

/** A model's parameters, unchanged, as settings for the native side. */
export function givenParameters({ config }: BackendContext): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config.parameters).map(([key, { string_value }]) => [key, string_value]),
  );
}
