/** Packages of models outside of the app's folder: Node searches beside the model, then in the app. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { TritonErrorReason } from '../../src/index.js';
import { linkPackages } from '../support/project.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import type { Context } from '../support/harness.js';
import { script } from './harness.js';

const run = promisify(execFile);
const hooks = 'registerHooks' in nodeModule;

const body = (value: string): string =>
  `execute(requests) { return requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => value + ${value}) })); }`;

/** Models that add the number of a package, or fail with the error of its absence. */
const models = {
  import: script(`import { number } from 'number'; export default class { ${body('number')} };`),
  import_below: script(
    `import { number } from '@scope/both/below'; export default class { ${body('number')} };`,
  ),
  import_cjs: script(`import cjs from 'cjs'; export default class { ${body('cjs.number')} };`),
  import_late: script(
    `export default class { async initialize() { this.n = (await import('number')).number; } ${body('1')} };`,
  ),
  require: script(
    `const { number } = require('cjs'); module.exports = class { ${body('number')} };`,
    {},
    'model.cjs',
  ),
  require_late: script(
    `module.exports = class { initialize() { this.n = require('cjs').number; } ${body('1')} };`,
    {},
    'model.cjs',
  ),
  require_below: script(
    `const { number } = require('@scope/both/below'); module.exports = class { ${body('number')} };`,
    {},
    'model.cjs',
  ),
};

async function packages(folder: string, number: number): Promise<void> {
  const files = {
    'number/package.json': '{ "type": "module", "exports": "./index.js" }',
    'number/index.js': `export { number } from 'dependency';`,
    'dependency/package.json': '{ "type": "module", "exports": "./index.js" }',
    'dependency/index.js': `export const number = ${number};`,
    'cjs/package.json': '{}',
    'cjs/index.js': `exports.number = ${number};`,
    '@scope/both/package.json':
      '{ "exports": { "./below": { "import": "./below.mjs", "require": "./below.cjs" } } }',
    '@scope/both/below.mjs': `export const number = ${number};`,
    '@scope/both/below.cjs': `exports.number = ${number};`,
  };
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, 'node_modules', file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

interface Outcome {
  readonly y?: number;
  readonly reason?: TritonErrorReason;
  readonly message?: string;
}

/** Each model's answer to 0, in an app with its own packages (7) and a repository elsewhere. */
async function outcomes(
  t: Context,
  where: { readonly app?: boolean; readonly beside?: boolean },
): Promise<{
  readonly seen: Readonly<Record<string, Outcome>>;
  readonly app: string;
  readonly elsewhere: string;
}> {
  const app = await realpath(await temporaryFolder(t));
  const elsewhere = await realpath(await temporaryFolder(t));
  await linkPackages(app, 'onnxruntime-node');
  if (where.app === true) await packages(app, 7);
  await writeRepository(join(elsewhere, 'models'), models);
  await writeFile(
    join(app, 'main.mjs'),
    `import { createServer } from 'tritonts';
     const [, , elsewhere] = process.argv;
     const server = await createServer(elsewhere + '/models', { exitOnError: false });
     const seen = {};
     for (const { name } of server.index()) {
       try {
         seen[name] = { y: (await server.infer(name, { x: new Float32Array(16) })).outputs.y.data[0] };
       } catch (error) {
         seen[name] = { reason: error.cause?.reason ?? error.reason, message: error.message };
       }
     }
     await server.close();
     console.log(JSON.stringify(seen));`,
  );
  if (where.beside === true) await packages(elsewhere, 3);
  const { stdout } = await run(process.execPath, ['main.mjs', elsewhere], { cwd: app });
  return { seen: JSON.parse(stdout) as Record<string, Outcome>, app, elsewhere };
}

const late = ['import_late', 'require_late'];
const all = (y: number): Readonly<Record<string, Outcome>> =>
  Object.fromEntries(Object.keys(models).map((name) => [name, { y: late.includes(name) ? 1 : y }]));

test('packages beside a model come before those of the app', async (t) => {
  const { seen } = await outcomes(t, { app: true, beside: true });
  assert.deepEqual(seen, all(3));
});

test(
  'packages of the app are found from a folder outside of it',
  { skip: hooks ? false : `Node ${process.versions.node} has no module.registerHooks` },
  async (t) => {
    const { seen } = await outcomes(t, { app: true });
    assert.deepEqual(seen, all(7));
  },
);

test('a package that is nowhere is named, with its file and where to install it', async (t) => {
  const { seen, app, elsewhere } = await outcomes(t, {});
  assert.deepEqual(Object.keys(seen).sort(), Object.keys(models).sort());
  for (const [name, { message = '' }] of Object.entries(seen)) {
    assert.match(message, /the package '(number|cjs|@scope\/both(\/below)?)', which '/, name);
    const folder = join(elsewhere, 'models', name, '1');
    for (const part of [
      `model '${name}'`,
      `install it in '${folder}', in a folder above it`,
      `the app, '${app}'`,
    ])
      assert.ok(message.includes(part), `${part} in ${message}`);
  }
});
