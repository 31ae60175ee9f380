// Writes the types of each entry of the package to one file, dist/src/index.d.ts for example: the exports of its source,
// without declarations marked @internal. It replaces tsc's file.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'dist', 'src');
const entries = [
  'index',
  'javascript/index',
  'metrics/serve',
  'endpoints/http/serve',
  'endpoints/grpc/serve',
  'endpoints/openai/serve',
  'client/index',
  'config/public',
  'testing/index',
];
/** The specifier with which endpoints import the main entry. */
const mainEntry = '../../index.js';
const targetOf = (entry) => join(folder, `${entry}.d.ts`);
// Without types (`"types": []`, the default from TypeScript 6 on) a compiler would not know Buffer.
const head = '/// <reference types="node" />\n';

/** Whether tsc has written no types since they were last rolled up. */
function isRecent() {
  const targets = entries.map(targetOf);
  if (!targets.every((target) => readFileSync(target, 'utf8').startsWith(head))) return false;
  // The rolled files are written one after another, after tsc's. So the oldest of them counts.
  const rolled = Math.min(...targets.map((target) => statSync(target).mtimeMs));
  return readdirSync(folder, { recursive: true })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith('.d.ts') && !targets.includes(file))
    .every((file) => statSync(file).mtimeMs <= rolled);
}
if (isRecent()) process.exit();

const compilerOptions = { stripInternal: true, incremental: false, tsBuildInfoFile: undefined };

// All entries must share the class of servers: a copy of a class with private members is a different type.
const isServer = (id) => /\/inference-server\.(js|ts|d\.ts)$/.test(id);
// Programs add their models to the main entry's registry. A copy in another entry would stay empty.
const isRegistry = (id) => /\/tensor\/signature\.(js|ts|d\.ts)$/.test(id);
const isMain = (id) => isServer(id) || isRegistry(id);

async function roll(entry) {
  const toMain = `${'../'.repeat(entry.split('/').length - 1)}index.js`;
  const bundle = await rollup({
    input: join(root, 'src', `${entry}.ts`),
    plugins: [dts({ tsconfig: join(root, 'tsconfig.json'), compilerOptions })],
    // Programs pass objects of the main entry, so their types must be the main entry's.
    external: (id) =>
      id.startsWith('node:') ||
      id === mainEntry ||
      (['client/index', 'testing/index'].includes(entry) && id === '../index.js') ||
      (entry !== 'index' && isMain(id)),
    makeAbsoluteExternalsRelative: false,
    onwarn(warning) {
      throw new Error(warning.message);
    },
  });
  const {
    output: [{ code }],
  } = await bundle.generate({ format: 'es', paths: (id) => (isMain(id) ? toMain : id) });
  await bundle.close();
  return code;
}

// A program can add to an interface only if its declaration itself is exported; a list of exports is not enough.
function exportInterface(code, name) {
  const declaration = `interface ${name} {`;
  const inList = new RegExp(`(export type \\{[^}]*)\\b${name}, `);
  if (!code.includes(`\n${declaration}`) || !inList.test(code))
    throw new Error(`${name} is not where it was`);
  return code.replace(`\n${declaration}`, `\nexport ${declaration}`).replace(inList, '$1');
}
const open = ['ModelRegistry', 'RegistryOptions'];

const rolled = [];
for (const entry of entries) rolled.push(await roll(entry));
rolled.forEach((code, i) => {
  writeFileSync(
    targetOf(entries[i]),
    head + (entries[i] === 'index' ? open.reduce(exportInterface, code) : code),
  );
});
