import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gpuFamilies, poolFamilies } from '../../src/metrics/gpu-families.js';
import { identity, row, serve } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
const page = await readFile(join(root, 'docs', 'metrics.md'), 'utf8');

/** The repository that the page's programs use. */
const folder = await temporaryFolder({ after });
await cp(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
await mkdir(join(folder, 'node_modules'));
for (const [name, target] of [
  ['tritonts', root],
  ['onnxruntime-node', dirname(fileURLToPath(import.meta.resolve('onnxruntime-node/package.json')))],
] as const) {
  await symlink(target, join(folder, 'node_modules', name), 'dir');
}

test('the page lists every metric with its type, and no other', async (t) => {
  const metricsConfig = { histogramLatencies: true, summaryLatencies: true };
  const rateLimit = { mode: 'execution_count' } as const;
  const { config = '', ...model } = identity();
  const limited = config.replace(
    'count: 1',
    'count: 1 rate_limiter { resources [ { name: "R" count: 1 } ] }',
  );
  const inSequences = identity({ batching: false, more: 'sequence_batching { }' });
  const cached = identity({ more: 'response_cache { enable: true }' });
  const later = identity({ parameters: { load: 'lazy' } });
  const models = { echo: { ...model, config: limited }, sequences: inSequences, cached, later };
  const cacheConfig = { local: { size: 4096 } };
  const server = await serve(t, models, {
    ...{ metricsConfig, rateLimit, cacheConfig },
    memoryBudgetBytes: 2 ** 30,
  });
  await server.infer('echo', { x: row() });
  const shown = [...server.metrics().matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  const listed = [...page.matchAll(/^\| `((?:nv|tritonts)_\w+)` *\| (\w+)/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  // Without a GPU their families have no series, and are not shown.
  const ofGpus = [...gpuFamilies, ...poolFamilies].map(([name, type]) => `${name} ${type}`);
  assert.deepEqual(listed, [...shown.filter((family) => !ofGpus.includes(family)), ...ofGpus]);
});

const programs = [...page.matchAll(/<!-- test: (\w+) -->\s*```js\n([^]*?)```/g)];

test('the page has programs', () => {
  assert.deepEqual(
    programs.map(([, name]) => name),
    ['serve', 'custom'],
  );
});

for (const [, name = '', code = ''] of programs) {
  test(`the page's program '${name}' prints what it says`, async () => {
    const file = join(folder, `${name}.mjs`);
    await writeFile(file, code);
    const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, timeout: 120_000 });
    assert.equal(stderr, '');
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    assert.ok(promised.length > 0);
    assert.deepEqual(stdout.trim().split('\n'), promised);
  });
}
