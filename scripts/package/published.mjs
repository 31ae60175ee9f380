// Writes the folder of the package as it is published.
//
// The published manifest differs from the repository's. It names a package for each platform; in the repository such names
// would make `npm ci` ask for unpublished packages. It leaves out fields that only building needs. So the repository's
// package is private.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { isModule, writeLibrary } from './library.mjs';
import { addresses, manifest, root } from './paths.mjs';

/** The files that `npm pack` takes in the repository, without what was built here. */
function publishedFiles() {
  const [{ files }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--dry-run', '--ignore-scripts'], { cwd: root, encoding: 'utf8' }),
  );
  return files.map(({ path }) => path).filter((path) => !path.startsWith('build/') && !isModule(path));
}

/** A page whose links to unpublished files lead to the repository. */
function withLinks(page, text, published) {
  const known = (path) => published.some((file) => file === path || file.startsWith(`${path}/`));
  return text.replace(/(?<=\]\()(?![a-z]+:|#)[^)\s#]+/g, (link) => {
    const path = posix.join(posix.dirname(page), link);
    return known(path) ? link : `${addresses(manifest).homepage.replace(/#.*$/, '')}/blob/HEAD/${path}`;
  });
}

/**
 * Writes the package to a folder, which is emptied first.
 *
 * @param binaries - The versions of the packages with binaries, by name.
 */
export async function writePublished(folder, binaries) {
  rmSync(folder, { recursive: true, force: true });
  const published = publishedFiles();
  for (const path of published) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    if (/\.c?js$/.test(path)) {
      // Source maps are not published.
      const text = readFileSync(join(root, path), 'utf8').replace(/^\/\/# sourceMappingURL=.*\n?/gm, '');
      writeFileSync(join(folder, path), text, { mode: statSync(join(root, path)).mode });
    } else if (path.endsWith('.md')) {
      writeFileSync(join(folder, path), withLinks(path, readFileSync(join(root, path), 'utf8'), published));
    } else cpSync(join(root, path), join(folder, path));
  }
  await writeLibrary(folder);
  const unpublished = new Set(['private', 'scripts', 'devDependencies', 'allowScripts']);
  const rest = Object.fromEntries(Object.entries(manifest).filter(([key]) => !unpublished.has(key)));
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...rest, ...addresses(manifest), optionalDependencies: binaries }, null, 2)}\n`,
  );
}
