// Writes the CommonJS side of the package's entries, dist/src/index.cjs for example, with its types, from the exports of
// the ES modules.
//
// It exports the same instance as the ES module. Node's own `require` loads it, even if the program's
// `require` is another one without ES modules, as in jest. Its types refer to the ES module's, so they are
// the same, too. A plain `export *` of them would be an error (TS1479) in TypeScript before 5.8.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { neededNode, runsHere } from '../../dist/src/addon/node-version.js';
import * as index from '../../dist/src/index.js';
import * as client from '../../dist/src/client/index.js';
import * as config from '../../dist/src/config/public.js';
import * as grpc from '../../dist/src/endpoints/grpc/serve.js';
import * as http from '../../dist/src/endpoints/http/serve.js';
import * as openai from '../../dist/src/endpoints/openai/serve.js';
import * as javascript from '../../dist/src/javascript/index.js';
import * as metrics from '../../dist/src/metrics/serve.js';
import * as testing from '../../dist/src/testing/index.js';
import { outsideOfBundle } from '../../dist/src/addon/own-file.js';
import { root } from './paths.mjs';

const resolution = "{ 'resolution-mode': 'import' }";
const isClass = (value) => typeof value === 'function' && /^class\b/.test(String(value));

function typesOf(esm, name, file) {
  const types = [
    `/** The types of \`require('${name}')\`: those of the ES module. */`,
    `import type * as esm from './${file}.js' with ${resolution};`,
    `export type * from './${file}.js' with ${resolution};`,
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
  return `${types.join('\n')}\n`;
}

/**
 * What is exported: the ES module's own, but for delays of test servers. They have the timers of the realm that asks, which
 * jest's fake timers replace: the ES module is in Node's.
 */
const exportsOf = (name, load) =>
  name === 'tritonts/testing'
    ? `const testing = ${load};
module.exports = {
  ...testing,
  testServer: (options) =>
    testing.testServer({ clock: { setTimeout: (call, ms) => globalThis.setTimeout(call, ms) }, ...options }),
};`
    : `module.exports = ${load};`;

const codeOf = (name, file) => `'use strict';
// The process as Node knows it: test runners put their own in its place, with a require that knows no ES modules.
const { features, getBuiltinModule, versions } = require('node:vm').runInThisContext('process');
${runsHere}
if (!runsHere(versions)) throw new Error(\`${neededNode('${versions.node}')}\`);
// Bun and Deno have no word for it.
if (!features.require_module && !versions.bun && !versions.deno)
  throw new Error('tritonts is an ES module: leave --no-experimental-require-module away, or load it with import');
// A bundler that takes this file does not see what it loads.
if (!__filename.endsWith('${file}.cjs') || !getBuiltinModule('node:fs').existsSync(__filename.replace(/cjs$/, 'js')))
  throw new Error('tritonts is in a bundle: ${outsideOfBundle}');
${exportsOf(name, `getBuiltinModule('node:module').createRequire(__filename)('./${file}.js')`)}
`;

for (const [name, folder, file, esm] of [
  ['tritonts', '', 'index', index],
  ['tritonts/client', 'client', 'index', client],
  ['tritonts/config', 'config', 'public', config],
  ['tritonts/grpc', 'endpoints/grpc', 'serve', grpc],
  ['tritonts/http', 'endpoints/http', 'serve', http],
  ['tritonts/javascript', 'javascript', 'index', javascript],
  ['tritonts/metrics', 'metrics', 'serve', metrics],
  ['tritonts/openai', 'endpoints/openai', 'serve', openai],
  ['tritonts/testing', 'testing', 'index', testing],
]) {
  const base = join(root, 'dist', 'src', folder, file);
  writeFileSync(`${base}.cjs`, codeOf(name, file));
  writeFileSync(`${base}.d.cts`, typesOf(esm, name, file));
}
