/**
 * `npm run bench -- lazy`: many models on little memory. Requests by a Zipf law for lazy models, of which a tenth fits the
 * budget; then the cost of a request for a loaded lazy model beside one of a model that is not lazy.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createServer } from '../../src/index.js';
import { mlpModel } from '../../test/support/models.js';
import { writeRepository } from '../../test/support/repository.js';
import { modelName, runZipf } from '../../test/registry/lazy/zipf.js';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: '1000' },
    requests: { type: 'string', default: '100000' },
    budget: { type: 'string', default: '250' },
    // Of the two inner layers: a model has its square as numbers.
    width: { type: 'string', default: '600' },
  },
});
const [models, requests] = [Number(values.models), Number(values.requests)];
const budgetBytes = Number(values.budget) * 2 ** 20;
const folder = await mkdtemp(join(tmpdir(), 'tritonts-lazy-'));

/** The time of one request after another, in microseconds. */
async function requestUs(load: 'eager' | 'lazy', repository: string): Promise<number> {
  await using server = await createServer(repository, { load });
  const model = server.model('one');
  const x = new Float32Array(16);
  for (let i = 0; i < 2000; i++) await model.infer({ x });
  const begin = performance.now();
  for (let i = 0; i < 20_000; i++) await model.infer({ x });
  return ((performance.now() - begin) * 1000) / 20_000;
}

try {
  const width = Number(values.width);
  const bytes = mlpModel([16, width, width, 16]);
  const names = Array.from({ length: models }, (_, i) => modelName(i));
  await writeRepository(
    join(folder, 'many'),
    Object.fromEntries(names.map((name) => [name, { versions: { '1': bytes } }])),
  );
  const one = await writeRepository(join(folder, 'one'), { one: { versions: { '1': mlpModel([16, 16]) } } });
  {
    const begin = performance.now();
    await using server = await createServer(join(folder, 'many'), {
      load: 'lazy',
      memoryBudgetBytes: budgetBytes,
    });
    console.log(
      `${models} models of ${bytes.length} bytes: started in ${Math.round(performance.now() - begin)} ms`,
    );
    const base = process.memoryUsage.rss();
    const first = performance.now();
    await server.infer(modelName(0), { x: new Float32Array(16) });
    console.log(`first request of all: ${(performance.now() - first).toFixed(1)} ms`);
    const second = performance.now();
    await server.infer(modelName(1), { x: new Float32Array(16) });
    console.log(`first request of another model: ${(performance.now() - second).toFixed(1)} ms`);
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss() - base)), 10);
    const began = performance.now();
    const outcome = await runZipf([(name, inputs) => server.infer(name, inputs)], {
      ...{ models, requests, atOnce: 32 },
      added: undefined,
    });
    const seconds = (performance.now() - began) / 1000;
    clearInterval(timer);
    console.log(outcome);
    console.log(
      `${Math.round(requests / seconds)} requests a second; the process grew by ${(most / budgetBytes).toFixed(2)} budgets`,
    );
    const figures = server.metrics().match(/^tritonts_lazy_.*$/gm) ?? [];
    console.log(figures.join('\n'));
    if (outcome.failed > 0 || most > 1.3 * budgetBytes) process.exitCode = 1;
  }
  for (let round = 0; round < 3; round++) {
    const [eager, lazy] = [await requestUs('eager', one), await requestUs('lazy', one)];
    console.log(`a request for a loaded model: eager ${eager.toFixed(2)} µs, lazy ${lazy.toFixed(2)} µs`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
