/**
 * Importing this file selects the tests' build of the addon, which has the backends of `backends/` too, and counts its use of
 * the system. It lies beside the addon that TRITONTS_ADDON names, or beside that of `npm run build`.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './backends/added.js';

const chosen = process.env['TRITONTS_ADDON'] ?? '';

process.env['TRITONTS_ADDON'] = join(
  chosen === '' ? fileURLToPath(new URL('../../../build/Release', import.meta.url)) : dirname(chosen),
  'tritonts_faults.node',
);
