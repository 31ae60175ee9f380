/**
 * The identity backend, whose outputs are its inputs. It is for tests, and for measuring the overhead of the
 * rest.
 */

import type { Backend, BackendContext } from './backend.js';

const parameters = ['execute_delay_ms', 'instance_wise_delay_multiplier'] as const;

/** Reads the parameters of Triton's identity backend: `execute_delay_ms` and `instance_wise_delay_multiplier`. */
export const identity: Backend = {
  name: 'identity',
  opens: 'native',
  needsFile: false,
  optionKeys: [],
  settings({ config }: BackendContext): Record<string, string> {
    const settings: Record<string, string> = {};
    for (const key of parameters) {
      const value = config.parameters[key]?.string_value;
      if (value !== undefined) settings[key] = value;
    }
    return settings;
  },
};
