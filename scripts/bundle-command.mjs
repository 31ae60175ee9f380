// Bundles the command `tritonts` into few files, dist/command/. Code that only some commands need is loaded on demand.
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { roll, root, source } from './roll.mjs';

const folder = join(root, 'dist', 'command');
const target = join(folder, 'main.js');

/** Whether the bundle is newer than tsc's output and the scripts. */
function isRecent() {
  if (!existsSync(target)) return false;
  const made = statSync(target).mtimeMs;
  const files = readdirSync(source, { recursive: true }).filter((file) => file.endsWith('.js'));
  const scripts = ['bundle-command.mjs', 'roll.mjs'].map((file) => join(root, 'scripts', file));
  return [...scripts, ...files.map((file) => join(source, file))].every(
    (file) => statSync(file).mtimeMs <= made,
  );
}

if (!isRecent()) {
  rmSync(folder, { recursive: true, force: true });
  await roll(
    { main: 'cli/main' },
    {
      ...{ folder, place: '../command', chunkFileNames: '[name].js' },
      // What `serve` loads until its ports are open. Other commands do not read what they do not need of that.
      together: {
        start: ['cli/main'],
        watching: ['cli/top/top'],
        checking: ['cli/check'],
        serving: [
          ...['cli/serve/serve', 'server/creation/creation'],
          ...['endpoints/http/serve', 'endpoints/grpc/serve', 'metrics/serve'],
        ],
      },
    },
  );
}
