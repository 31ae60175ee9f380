/**
 * The identity backend, whose outputs are its inputs. It is for tests, and for measuring the overhead of the
 * rest. Its native side reads the parameters of Triton's identity backend from the configuration.
 */

import { parameterRow } from '../../config/index.js';
import type { Backend } from '../backend.js';

/** Returns inputs as outputs. */
export const backend: Backend = {
  name: 'identity',
  needsFile: false,
  rules: {
    parameters: {
      execute_delay_ms: parameterRow('acted', 'how long each execution takes', { integer: true }),
      instance_wise_delay_multiplier: parameterRow(
        'acted',
        'instance i takes i times as long, times this value',
        { integer: true },
      ),
    },
  },
  optionKeys: [],
  settings(): Record<string, string> {
    return {};
  },
};
