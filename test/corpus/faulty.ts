/** Small faulty files, with the expected messages. */

import type { Faulty } from './faulty-base.js';
import { fields, values } from './faulty-fields.js';
import { ragged } from './faulty-ragged.js';
import { sequenceFaults } from './faulty-sequences.js';
import { encodings, syntax } from './faulty-text.js';

/** Each is the file of a model `faulty`, which has input x, FP32 [N,16], and output y. */
export const faulty: readonly Faulty[] = [
  ...encodings,
  ...syntax,
  ...fields,
  ...values,
  ...ragged,
  ...sequenceFaults,
];
