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
 */
export async function roll(entries, { folder, place, chunkFileNames }) {
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
  await bundle.write({ dir: folder, format: 'es', entryFileNames: '[name].js', chunkFileNames });
  await bundle.close();
}
