// Rolls modules of dist/src into few files: a process that reads some three hundred modules one by one takes twice as long
// to start. Code that is imported on demand stays in files of its own.
import { readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** What tsc writes. */
export const source = join(root, 'dist', 'src');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Packages that are not rolled in: they are installed beside this one, or may be. */
const packages = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });

/** Whether a module has a relative path besides those of its imports. */
const findsFiles = (code) => /(?<!\bfrom )(?<!\bimport )(?<!\bimport\()(['"`])\.\.?\//.test(code);

/**
 * Writes the rolled form of some modules.
 *
 * @param entries - Paths in dist/src without `.js`, by the path that each gets in the folder, also without.
 * @param folder - Where the files are written.
 * @param place - The folder's path from dist/src, once it is installed.
 * @param chunkFileNames - Names of the files that several entries share.
 * @param together - What a program loads, now or on demand, that is put into few files: by their names, in this order, modules. The
 * file gets what these load at once, as far as no earlier file has it and the last one's modules load it, too. Otherwise each set
 * of entries that need a module makes a file of its own, and a process takes as long to read ten such files as to compile them.
 */
export async function roll(entries, { folder, place, chunkFileNames, together }) {
  const plugin = {
    name: 'tritonts',
    /**
     * Keeps import.meta.url of each module that finds files beside its original place. The others find packages by it, as
     * do bundles that programs make of them. Where there is none, as in such a bundle of CommonJS, it stays undefined.
     */
    resolveImportMeta(property, { chunkId, moduleId }) {
      if (property !== 'url') throw new Error(`import.meta.${property} in ${moduleId}`);
      if (!findsFiles(this.getModuleInfo(moduleId)?.code ?? '')) return undefined;
      const from = posix.join(place, posix.dirname(chunkId));
      const path = posix.relative(from, relative(source, moduleId).split(sep).join('/'));
      return `(import.meta.url && new URL(${JSON.stringify(path)}, import.meta.url).href)`;
    },
  };
  const bundle = await rollup({
    input: Object.fromEntries(Object.entries(entries).map(([to, from]) => [to, join(source, `${from}.js`)])),
    external: (id) => id.startsWith('node:') || packages.includes(id),
    plugins: [plugin],
    onwarn(warning) {
      // Entries of types alone are modules without code.
      if (warning.code !== 'EMPTY_BUNDLE') throw new Error(warning.message);
    },
  });
  const files = await filesOf(together, bundle);
  await bundle.write({
    ...{ dir: folder, format: 'es', entryFileNames: '[name].js', chunkFileNames },
    manualChunks: (id) => files.get(id),
    // Otherwise what a module imports goes with it, used or not. Deprecated only because it is to be the default.
    // oxlint-disable-next-line typescript/no-deprecated
    onlyExplicitManualChunks: true,
  });
  await bundle.close();
}

/** The file of each module that is put together with others. */
async function filesOf(together, bundle) {
  const files = new Map();
  const names = Object.keys(together ?? {});
  if (names.length === 0) return files;
  // What an entry does not use of a module that it imports is in no file that it loads.
  const { output } = await bundle.generate({ format: 'es', entryFileNames: '[name].js' });
  const loaded = (name) => new Set(together[name].flatMap((path) => loadedBy(path, output)));
  const wanted = loaded(names.at(-1));
  // What a file's modules import is in it, or in an earlier file: no file refers to a later one.
  for (const name of names)
    for (const id of loaded(name)) if (wanted.has(id) && !files.has(id)) files.set(id, name);
  return files;
}

/** The modules in the files that are loaded with a module at once. */
function loadedBy(path, output) {
  const made = new Map(output.map((file) => [file.fileName, file]));
  const module = join(source, `${path}.js`);
  const files = new Set();
  const add = (file) => {
    if (file === undefined || files.has(file)) return;
    files.add(file);
    for (const name of file.imports) add(made.get(name));
  };
  const first = output.find((file) => file.facadeModuleId === module || file.moduleIds.includes(module));
  if (first === undefined) throw new Error(`together: ${path} is in no file`);
  add(first);
  return [...files].flatMap(({ moduleIds }) => moduleIds);
}
