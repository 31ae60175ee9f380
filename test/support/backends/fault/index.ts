/** The backend of native/test/support/backends/fault/. */

import type { Backend } from '../../../../src/backends/backend.js';
import { givenParameters } from '../given-parameters.js';

/** Receives a model's parameters unchanged. */
export const backend: Backend = {
  name: 'fault',
  decoupled: true,
  needsFile: false,
  optionKeys: [],
  settings: givenParameters,
};
