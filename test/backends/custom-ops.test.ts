import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { buildCustomOps, tripleModel } from '../support/custom-ops.js';
import { temporaryFolder, type RepositoryModel } from '../support/repository.js';
import { configText, floats, rejection, serve } from '../support/harness.js';

const built = await buildCustomOps(await temporaryFolder({ after }));

/** The library's path. Without a compiler the test is skipped, and this is undefined. */
function libraryPath(t: TestContext): string | undefined {
  if ('path' in built) return built.path;
  t.skip(built.reason);
  return undefined;
}

/** A model y = 3 x with an operator of a library. */
function triple(operators: readonly string[], files: RepositoryModel['files'] = {}): RepositoryModel {
  const names = operators.map((path) => JSON.stringify(path)).join(', ');
  const config = configText({
    inputs: [{ name: 'x', dims: [4] }],
    outputs: [{ name: 'y', dims: [4] }],
    more: operators.length === 0 ? '' : `model_operations { op_library_filename: [ ${names} ] }`,
  });
  return { config, files, versions: { '1': tripleModel() } };
}

/** The library lies in no model's folder, so its folder must be trusted. */
const trusting = (path: string): { trustedFolders: string[] } => ({ trustedFolders: [dirname(path)] });

test('a library of operators is found by its absolute path, and is there for batches too', async (t) => {
  const path = libraryPath(t);
  if (path === undefined) return;
  const server = await serve(t, { m: triple([path]) }, trusting(path));
  const results = await Promise.all(
    [1, 2, 3].map((x) => server.infer('m', { x: new Float32Array(4).fill(x) })),
  );
  assert.deepEqual(
    results.map((result) => [...floats(result)]),
    [3, 6, 9].map((y) => [y, y, y, y]),
  );
  assert.equal(results[0]?.timings.batchSize, 3);
});

test("a relative path starts at the model's folder", async (t) => {
  const path = libraryPath(t);
  if (path === undefined) return;
  const content = await readFile(path);
  const server = await serve(t, {
    beside: triple(['ops.so'], { 'ops.so': content }),
    below: triple(['lib/ops.so'], { 'lib/ops.so': content }),
  });
  for (const name of ['beside', 'below']) {
    assert.deepEqual(floats(await server.infer(name, { x: [[1, 2, 3, 4]] })), [3, 6, 9, 12]);
  }
});

test('models with one library load, unload and load again', async (t) => {
  const path = libraryPath(t);
  if (path === undefined) return;
  const server = await serve(
    t,
    { a: triple([path]), b: triple([path]) },
    { modelControlMode: 'explicit', loadModels: ['*'], ...trusting(path) },
  );
  await server.unloadModel('a');
  assert.deepEqual(floats(await server.infer('b', { x: [[1, 1, 1, 1]] })), [3, 3, 3, 3]);
  await server.unloadModel('b');
  await server.loadModel('a');
  assert.deepEqual(floats(await server.infer('a', { x: [[1, 1, 1, 1]] })), [3, 3, 3, 3]);
});

test('a library that is missing, and a file that is no library, are named', async (t) => {
  const none = join(await temporaryFolder(t), 'nowhere.so');
  const cases: readonly (readonly [RepositoryModel, string])[] = [
    [triple([none]), none],
    [triple(['ops.so']), '/m/ops.so'],
    [triple(['text.so'], { 'text.so': 'this is no library' }), '/m/text.so'],
  ];
  for (const [model, path] of cases) {
    const error = await rejection(serve(t, { m: model }, trusting(none)));
    assert.deepEqual([error.code, error.model], ['INTERNAL', 'm']);
    assert.ok(error.message.includes(path), error.message);
    assert.equal(error.location?.field, 'model_operations.op_library_filename[0]');
    assert.ok(error.location.line > 0);
  }
});

test('the error of a model without its library names the missing operator', async (t) => {
  const error = await rejection(serve(t, { m: triple([]) }));
  assert.equal(error.code, 'INTERNAL');
  assert.match(error.message, /tritonts\.test:?.*Triple|Triple.*tritonts\.test/s);
});
