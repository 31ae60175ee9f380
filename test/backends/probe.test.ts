/**
 * The probe backend is a folder in native/test/support/backends/ and one in test/support/backends/, and nothing else names
 * it. It is found, configured, opened and run as the package's own are.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { addon } from '../../src/addon/load.js';
import { backends } from '../../src/backends/index.js';
import { table } from '../../src/backends/table.generated.js';
import { survey } from '../../src/registry/files/survey.js';
import { resolveOptions } from '../../src/resolve-options.js';
import { ask, endpointOf, json } from '../endpoints/http/harness.js';
import { happened } from '../support/backends/probe/index.js';
import { table as testTable } from '../support/backends/table.generated.js';
import '../support/fault-addon.js';
import { configText, rejection, serve, type ConfigOptions } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const foldersOf = (path: string, file: string): string[] =>
  readdirSync(`${root}${path}`, { recursive: true, encoding: 'utf8' })
    .flatMap((name) => {
      const [folder = '', inside, deeper] = name.split(/[\\/]/);
      return inside === file && deeper === undefined ? [folder] : [];
    })
    .sort();

const probe = (options: ConfigOptions = {}): RepositoryModel => ({
  config: configText({
    inputs: [{ name: 'x', dims: [-1] }],
    outputs: [
      { name: 'y', dims: [-1] },
      { name: 'facts', datatype: 'INT32', dims: [2] },
    ],
    maxBatchSize: 4,
    instances: 2,
    parameters: { factor: 3 },
    ...options,
    backend: 'probe',
  }),
  versions: { '1': {} },
});

for (const [what, native, typescript, described] of [
  ['the package', 'native/backends', 'src/backends', table],
  ['the tests', 'native/test/support/backends', 'test/support/backends', testTable],
] as const) {
  // Where the tests run beside an installed package, the sources are elsewhere.
  const skip =
    [native, typescript].some((path) => !existsSync(`${root}${path}`)) && 'the sources are not here';
  test(
    `each backend of ${what} is one folder in native/ and one in TypeScript, of the same name`,
    { skip },
    () => {
      const folders = foldersOf(native, 'backend.cc');
      assert.deepEqual(foldersOf(typescript, 'index.ts'), folders);
      assert.deepEqual(
        described.map(({ name }) => name),
        folders,
      );
      for (const name of folders) assert.ok(addon().backends().includes(name), name);
    },
  );
}

test('the addon has no other backends', () => {
  assert.deepEqual([...backends().keys()], addon().backends());
  assert.equal(backends().size, table.length + testTable.length);
});

test('a backend gets its options and the completed configuration, opens its instances, and answers', async (t) => {
  happened.length = 0;
  const server = await serve(t, { scaled: probe() }, { backendConfig: { probe: { addend: 5 } } });
  assert.deepEqual(happened, [
    'open scaled/1 for scaled_0_0, scaled_0_1',
    'settle scaled/1',
    'start scaled/1 with 1 input',
  ]);
  const { outputs } = await server.infer('scaled', { x: Float32Array.of(1, 2) });
  assert.deepEqual(outputs['y']?.toArray(), [[8, 11]]);
  assert.deepEqual(outputs['facts']?.toArray(), [[2, 4]]);
  const all = await Promise.all([0, 1, 2, 3].map((x) => server.infer('scaled', { x: Float32Array.of(x) })));
  assert.deepEqual(
    all.map((result) => result.outputs['y']?.toArray()),
    [[[5]], [[8]], [[11]], [[14]]],
  );
});

test('a model is recognised by the file that its backend names', async (t) => {
  const model = probe();
  const config = (model.config as string).replace('backend: "probe"', '');
  const file = Buffer.from('any');
  const server = await serve(t, { scaled: { config, versions: { '1': { 'model.probe': file } } } });
  const { backend, default_model_filename: filename } = server.model('scaled').config;
  assert.deepEqual([backend, filename], ['probe', 'model.probe']);
  const { outputs } = await server.infer('scaled', { x: Float32Array.of(1, 2) });
  assert.deepEqual(outputs['y']?.toArray(), [[3, 6]]);
});

test("its own rules judge a model's parameters", async (t) => {
  const server = await serve(t, { scaled: probe({ parameters: { factor: 3, colour: 'red', fcator: 4 } }) });
  assert.deepEqual(server.model('scaled').notes, [
    'parameters["colour"]: accepted, without effect here: nothing has a colour',
    'parameters["fcator"]: accepted, without effect here: the probe backend has no such parameter (did you mean factor?)',
  ]);
  const error = await rejection(serve(t, { scaled: probe({ parameters: { factor: 'much' } }) }));
  assert.match(error.message, /parameters\["factor"\]: expected an integer but found "much"/);
});

test('over HTTP, too', async (t) => {
  const server = await serve(t, { scaled: probe() });
  const endpoint = await endpointOf(t, server);
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, 3], data: [1, 2, 4] }];
  const answer = json(await ask(endpoint, '/v2/models/scaled/infer', { body: { inputs } }));
  assert.deepEqual((answer as { outputs: unknown }).outputs, [
    { name: 'y', datatype: 'FP32', shape: [1, 3], data: [3, 6, 12] },
    { name: 'facts', datatype: 'INT32', shape: [1, 2], data: [2, 4] },
  ]);
});

test('what the native side refuses in the configuration is the error of the load', async (t) => {
  happened.length = 0;
  const error = await rejection(serve(t, { scaled: probe({ parameters: {} }) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /model 'scaled'.*parameter 'factor' is missing/);
});

test('an option that the backend does not read is refused', () => {
  assert.throws(
    () => resolveOptions({ modelRepository: '/models', backendConfig: { probe: { added: 5 } } }),
    /unknown key .added. in options\.backendConfig\.probe/,
  );
});

test('its runtime is opened without a model', async () => {
  const found = await survey(resolveOptions({ modelRepository: '/models' }));
  const probed = found.backends.find(({ name }) => name === 'probe');
  assert.deepEqual(probed, {
    name: 'probe',
    runtime: 'Probe',
    ok: true,
    reason: '',
    library: { path: 'probe', version: '7' },
    besides: '',
    onGpus: false,
    lacksOnGpus: '',
  });
});
