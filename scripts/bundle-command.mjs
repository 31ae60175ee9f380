// Bundles the command `tritonts` into few files, dist/command/. A process that reads some three hundred modules one by one
// takes twice as long to start. Code that only some commands need stays in files of its own, loaded on demand.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, 'dist', 'src');
const folder = join(root, 'dist', 'command');
const target = join(folder, 'main.js');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Packages that are not bundled: they are installed beside this one, or may be. */
const packages = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });

/** Whether the bundle is newer than tsc's output and this script. */
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
  /** Keeps import.meta.url of each module, so that it still finds files beside its original place. */
  resolveImportMeta(property, { moduleId }) {
    if (property !== 'url') throw new Error(`import.meta.${property} in ${moduleId}`);
    const path = relative(folder, moduleId).split(sep).join('/');
    return `new URL(${JSON.stringify(path)}, import.meta.url).href`;
  },
};

rmSync(folder, { recursive: true, force: true });
const bundle = await rollup({
  input: join(source, 'cli', 'main.js'),
  external: (id) => id.startsWith('node:') || packages.includes(id),
  plugins: [plugin],
  onwarn(warning) {
    throw new Error(warning.message);
  },
});
await bundle.write({ dir: folder, format: 'es', chunkFileNames: '[name].js' });
await bundle.close();
