/**
 * The identity backend, whose outputs are its inputs. It is for tests, and for measuring the overhead of the
 * rest. Its native side reads the parameters of Triton's identity backend from the configuration.
 */

import type { Backend } from '../backend.js';

/** Returns inputs as outputs. */
export const backend: Backend = {
  name: 'identity',
  needsFile: false,
  optionKeys: [],
  settings(): Record<string, string> {
    return {};
  },
};
