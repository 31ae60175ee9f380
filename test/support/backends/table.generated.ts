/** The backends of this folder. scripts/backend-tables.mjs writes this file. */

import type { Backend } from '../../../src/backends/backend.js';
import { backend as fault } from './fault/index.js';
import { backend as probe } from './probe/index.js';
import { backend as stream } from './stream/index.js';

/** The backends, by the order of their names. */
export const table: readonly Backend[] = [fault, probe, stream];
