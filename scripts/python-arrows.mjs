// Checks the structure of python/: no circles of imports between the modules of a package, imports in functions included.
//
//   node scripts/python-arrows.mjs [folder]…
//
// Needs nothing but Node.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const python = join(dirname(dirname(fileURLToPath(import.meta.url))), 'python');

/** The modules of the folder that a module imports: `from .a import b`, and `from . import a as b, c`. */
function importsOf(folder, module, modules) {
  const text = readFileSync(join(folder, `${module}.py`), 'utf8').replaceAll(
    /[()\\]\n?\s*|,\n\s*/g,
    (found) => (found.startsWith(',') ? ', ' : ' '),
  );
  const found = [];
  for (const [, from, names] of text.matchAll(/^[ \t]*from +(?:tritonts_stub)?\.?(\w*) +import +(.+)$/gm)) {
    if (from !== '') found.push(from);
    else found.push(...names.split(',').map((name) => name.trim().split(/\s/)[0]));
  }
  return found.filter((name) => modules.includes(name));
}

/** The circles of a package, as texts. */
function circlesIn(folder) {
  const modules = readdirSync(folder)
    .filter((file) => file.endsWith('.py'))
    .map((file) => basename(file, '.py'));
  const imports = new Map(modules.map((module) => [module, importsOf(folder, module, modules)]));
  const done = new Set();
  const circles = [];
  const visit = (module, path) => {
    if (path.includes(module)) {
      circles.push([...path.slice(path.indexOf(module)), module].join(' → '));
      return;
    }
    if (done.has(module)) return;
    for (const other of imports.get(module)) visit(other, [...path, module]);
    done.add(module);
  };
  for (const module of modules) visit(module, []);
  // If no module imports two others, the patterns above no longer match.
  if (![...imports.values()].some((found) => found.length > 1)) circles.push('no module imports two others');
  return circles;
}

const given = process.argv.slice(2);
const folders =
  given.length > 0 ? given : ['tritonts_stub', 'tritonts_torch'].map((name) => join(python, name));
for (const folder of folders) {
  for (const circle of circlesIn(folder)) {
    console.error(`${folder}: ${circle}`);
    process.exitCode = 1;
  }
}
