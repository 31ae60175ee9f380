// Puts the command `tritonts` together in few files, dist/command/: a process that reads some three hundred modules one by one takes
// twice as long to start. What only some commands need stays in files of its own, which are read when they are needed.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, 'dist', 'src');
const folder = join(root, 'dist', 'command');
const target = join(folder, 'main.js');
const dependencies = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies);

/** Whether tsc has written nothing since, and this file is older, too. */
function isRecent() {
  if (!existsSync(target)) return false;
  const made = statSync(target).mtimeMs;
  const files = readdirSync(source, { recursive: true }).filter((file) => file.endsWith('.js'));
  return [fileURLToPath(import.meta.url), ...files.map((file) => join(source, file))].every(
    (file) => statSync(file).mtimeMs <= made,
  );
}
if (isRecent()) process.exit();

const plugin = {
  name: 'tritonts',
  /** A module goes on to find files beside where it was. */
  resolveImportMeta(property, { moduleId }) {
    if (property !== 'url') throw new Error(`import.meta.${property} in ${moduleId}`);
    const path = relative(folder, moduleId).split(sep).join('/');
    return `new URL(${JSON.stringify(path)}, import.meta.url).href`;
  },
};

rmSync(folder, { recursive: true, force: true });
const bundle = await rollup({
  input: join(source, 'cli', 'main.js'),
  external: (id) => id.startsWith('node:') || dependencies.includes(id),
  plugins: [plugin],
  onwarn(warning) {
    throw new Error(warning.message);
  },
});
await bundle.write({ dir: folder, format: 'es', chunkFileNames: '[name].js' });
await bundle.close();
