/**
 * Importing this file adds the backends of this folder to the table of this environment. Only the tests' build of the addon
 * (../fault-addon.ts) has them; with any other build the rows have no effect.
 */

import { addBackends } from '../../../src/backends/index.js';
import { table } from './table.generated.js';

addBackends(table);
