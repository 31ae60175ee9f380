// The modules that are published, dist/src of the package: its entries, with all that they import in few files.
//
//   node scripts/package/library.mjs <folder of a package>
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { roll } from '../roll.mjs';

/** What programs import, and what threads of the package load by path. Each is published at its own path. */
const entries = [
  'analyze/trial/memory-process',
  'cli/serve/threads/thread',
  'index',
  'client/index',
  'config/public',
  'endpoints/grpc/serve',
  'endpoints/http/serve',
  'endpoints/openai/serve',
  'endpoints/openai/template-process',
  'javascript/index',
  'metrics/serve',
  'testing/index',
  'server/creation/attach-server',
  'server/creation/model-thread',
  'server/reports/devices',
];

/** Whether a file is a module that {@link writeLibrary} replaces. */
export const isModule = (path) => path.startsWith('dist/src/') && path.endsWith('.js');

/** Writes the modules to a package's folder. */
export function writeLibrary(folder) {
  return roll(Object.fromEntries(entries.map((entry) => [entry, entry])), {
    folder: join(folder, 'dist', 'src'),
    place: '',
    chunkFileNames: 'parts/[name].js',
    // A thread or a program that needs one of the former does not read the rest.
    together: {
      common: ['metrics/serve'],
      threads: ['server/creation/model-thread'],
      client: ['client/index'],
      server: ['index'],
    },
  });
}

const [script, folder] = process.argv.slice(1);
if (script === fileURLToPath(import.meta.url) && folder !== undefined) await writeLibrary(folder);
