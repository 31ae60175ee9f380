// Writes dist/src/index.d.ts, the types of the whole package in one file: what src/index.ts exports, and nothing that is
// marked @internal. It replaces what tsc writes there for that one file.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'dist', 'src', 'index.d.ts');
// Compilers that are told of no types (`"types": []`, the default from TypeScript 6 on) would not know Buffer.
const head = '/// <reference types="node" />\n';

/** Whether tsc has written no types since they were rolled up. */
function isRecent() {
  if (!readFileSync(target, 'utf8').startsWith(head)) return false;
  const { mtimeMs } = statSync(target);
  const folder = dirname(target);
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.d.ts'))
    .every((file) => statSync(join(folder, file)).mtimeMs <= mtimeMs);
}
if (isRecent()) process.exit();

const compilerOptions = { stripInternal: true, incremental: false, tsBuildInfoFile: undefined };
const bundle = await rollup({
  input: join(root, 'src', 'index.ts'),
  plugins: [dts({ tsconfig: join(root, 'tsconfig.json'), compilerOptions })],
  external: /^node:/,
  onwarn(warning) {
    throw new Error(warning.message);
  },
});
const {
  output: [{ code }],
} = await bundle.generate({ format: 'es' });
await bundle.close();

// A program that adds to ModelRegistry can do so only where it is exported as it is declared, and not by a list.
const registry = 'interface ModelRegistry {';
const inList = /(export type \{[^}]*)\bModelRegistry, /;
if (!code.includes(`\n${registry}`) || !inList.test(code))
  throw new Error('ModelRegistry is not where it was');
const types = code.replace(`\n${registry}`, `\nexport ${registry}`).replace(inList, '$1');

writeFileSync(target, head + types);
