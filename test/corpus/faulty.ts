/** Small faulty files, and what is said of each. */

import type { Faulty } from './faulty-base.js';
import { fields, values } from './faulty-fields.js';
import { encodings, syntax } from './faulty-text.js';

/** Each is read as the file of a model `faulty`, which takes FP32 [N,16] as x and gives y. */
export const faulty: readonly Faulty[] = [...encodings, ...syntax, ...fields, ...values];
