/**
 * Importing this file chooses the tests' build of the addon for the process, which has a backend with faults and counts
 * what it asks of the system: the one beside the addon that TRITONTS_ADDON names, or else that of `npm run build`.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const chosen = process.env['TRITONTS_ADDON'] ?? '';

process.env['TRITONTS_ADDON'] = join(
  chosen === '' ? fileURLToPath(new URL('../../../build/Release', import.meta.url)) : dirname(chosen),
  'tritonts_faults.node',
);
