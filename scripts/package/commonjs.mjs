// Writes the package's CommonJS entry, dist/src/index.cjs with its types, from what the ES module exports.
//
// It is the same instance that ES modules get. Node's own `require` loads it, also where `require` is somebody else's that
// knows no ES modules, as jest's. The types refer to the ES module's, so that those are the same, too; a plain
// `export *` of them is an error (TS1479) to TypeScript before 5.8.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { oldestNode } from '../../dist/src/addon/load-error.js';
import * as esm from '../../dist/src/index.js';
import { root } from './paths.mjs';

const resolution = "{ 'resolution-mode': 'import' }";
const isClass = (value) => typeof value === 'function' && /^class\b/.test(String(value));

const types = [
  "/** The types of `require('tritonts')`: those of the ES module. */",
  `import type * as esm from './index.js' with ${resolution};`,
  `export type * from './index.js' with ${resolution};`,
];
for (const [name, value] of Object.entries(esm).sort(([a], [b]) => (a < b ? -1 : 1))) {
  types.push(`export declare const ${name}: typeof esm.${name};`);
  if (!isClass(value)) continue;
  types.push(
    name === 'Tensor'
      ? `export type ${name}<D extends esm.Datatype = esm.Datatype> = esm.${name}<D>;`
      : `export type ${name} = esm.${name};`,
  );
}
const code = `'use strict';
// The process as Node knows it: test runners put their own in its place, with a require that knows no ES modules.
const { features, getBuiltinModule, versions } = require('node:vm').runInThisContext('process');
// Bun and Deno have no word for it.
if (!features.require_module && !versions.bun && !versions.deno)
  throw new Error(\`tritonts needs Node ${oldestNode} or newer for require(), and this is \${versions.node}\`);
module.exports = getBuiltinModule('node:module').createRequire(__filename)('./index.js');
`;
writeFileSync(join(root, 'dist', 'src', 'index.cjs'), code);
writeFileSync(join(root, 'dist', 'src', 'index.d.cts'), `${types.join('\n')}\n`);
