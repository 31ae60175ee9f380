import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { addon } from '../../src/addon/load.js';
import type { BackendConfig, InferenceServer } from '../../src/index.js';
import { buildCustomOps, reportModel } from '../support/custom-ops.js';
import { addModel } from '../support/models.js';
import { temporaryFolder } from '../support/repository.js';
import { onnx, rejection, serve } from '../support/harness.js';

const library = await buildCustomOps(await temporaryFolder({ after }));

type Parameters = Readonly<Record<string, string | number>>;

/** A kernel's report about its session: values by name. */
type Report = Readonly<Record<string, string | undefined>>;

/**
 * Serves a model m whose operators report their session. Without a compiler the test is skipped, and this is
 * undefined.
 */
async function serveReport(
  t: TestContext,
  parameters: Parameters = {},
  onnxruntime: BackendConfig = {},
): Promise<InferenceServer | undefined> {
  if ('reason' in library) {
    t.skip(library.reason);
    return undefined;
  }
  const report = onnx(reportModel(), {
    maxBatchSize: 0,
    batching: false,
    inputs: [{ name: 'x', dims: [1, -1] }],
    outputs: [],
    parameters,
    more: `output [ { name: "lines" data_type: TYPE_STRING dims: [ -1 ] } ]
      model_operations { op_library_filename: "${library.path}" }`,
  });
  return serve(t, { m: report }, { backendConfig: { onnxruntime }, trustedFolders: [dirname(library.path)] });
}

/** Runs the model on a row of `width` floats. */
async function run(server: InferenceServer, width = 64): Promise<Report> {
  const { outputs } = await server.infer('m', { x: [new Float32Array(width)] });
  const lines = outputs['lines']?.as('BYTES').strings() ?? [];
  return Object.fromEntries(lines.map((line) => line.split('=', 2) as [string, string]));
}

/** How many times the second of two equal runs asked the arena for memory. */
async function allocations(server: InferenceServer): Promise<number> {
  await run(server);
  const before = Number((await run(server))['arena NumAllocs']);
  return Number((await run(server))['arena NumAllocs']) - before;
}

test('a session has an arena unless enable_mem_arena is 0', async (t) => {
  const server = await serveReport(t);
  if (!server) return;
  assert.ok(Number((await run(server))['arena TotalAllocated']) > 0);
  for (const [parameters, options] of [
    [{ enable_mem_arena: 0 }, {}],
    [{}, { enable_mem_arena: '0' }],
  ] as const) {
    const without = await serveReport(t, parameters, options);
    assert.equal(without && (await run(without))['arena TotalAllocated'], undefined);
  }
  const again = await serveReport(t, { enable_mem_arena: 1 }, { enable_mem_arena: 0 });
  assert.ok(again && Number((await run(again))['arena TotalAllocated']) > 0);
});

test('memory patterns make one allocation of many, unless enable_mem_pattern is 0', async (t) => {
  const server = await serveReport(t);
  if (!server) return;
  const withPatterns = await allocations(server);
  assert.ok(withPatterns < 4, `${withPatterns} allocations`);
  const without = await serveReport(t, { enable_mem_pattern: 0 });
  assert.ok(without && (await allocations(without)) >= 8);
});

test('memory.enable_memory_arena_shrinkage gives back after each run what a large one took', async (t) => {
  const large = 1 << 18;
  const keeping = await serveReport(t);
  if (!keeping) return;
  await run(keeping, large);
  const kept = await run(keeping);
  assert.equal(kept['arena NumArenaShrinkages'], '0');

  const shrinking = await serveReport(t, { 'memory.enable_memory_arena_shrinkage': 'cpu:0' });
  assert.ok(shrinking);
  await run(shrinking, large);
  const shrunk = await run(shrinking);
  assert.ok(Number(shrunk['arena NumArenaShrinkages']) > 0);
  assert.ok(Number(shrunk['arena TotalAllocated']) < Number(kept['arena TotalAllocated']) / 4);
});

for (const [what, parameters, expected] of [
  ['no list of arenas', { 'memory.enable_memory_arena_shrinkage': 'yes' }, /every session has, cpu:0,/],
  ['a list with a gap', { 'memory.enable_memory_arena_shrinkage': 'cpu:0;' }, /separated by semicolons/],
  ['another arena', { 'memory.enable_memory_arena_shrinkage': 'cpu:1' }, /cpu:0/],
  ['a GPU of a model on the CPU', { 'memory.enable_memory_arena_shrinkage': 'cpu:0;gpu:0' }, /cpu:0,/],
  [
    'an arena that is switched off',
    { enable_mem_arena: 0, 'memory.enable_memory_arena_shrinkage': 'cpu:0' },
    /expected no value, because the sessions have no arena/,
  ],
] as const) {
  test(`to shrink ${what} is refused at load, not at each request`, async (t) => {
    const error = await rejection(serve(t, { m: onnx(addModel(), { parameters }) }));
    assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
    assert.equal(error.location?.field, 'parameters["memory.enable_memory_arena_shrinkage"]');
    assert.match(error.message, expected);
  });
}

test('what the session is configured with is what was asked for', async (t) => {
  const settings: readonly (readonly [key: string, value: string | number])[] = [
    ['session.use_device_allocator_for_initializers', 1],
    ['session.use_device_allocator_for_initializers', 0],
    ['session.intra_op.allow_spinning', 1],
    ['session.intra_op.allow_spinning', 0],
  ];
  for (const [key, value] of settings) {
    // Only a session with its own threads has a setting for spinning.
    const server = await serveReport(t, { intra_op_thread_count: 2, [key]: value });
    if (!server) return;
    assert.equal((await run(server))[`config ${key}`], String(value));
    const general = await serveReport(t, { intra_op_thread_count: 2 }, { [key]: value });
    assert.equal(general && (await run(general))[`config ${key}`], String(value));
  }
});

test('threads of a model spin within runs, for a short time, or as it says', async (t) => {
  const plain = await serveReport(t, { intra_op_thread_count: 2 });
  if (!plain) return;
  const report = await run(plain);
  const spins = addon().cores() > 1;
  assert.equal(report['config session.intra_op.allow_spinning'], spins ? '1' : '0');
  assert.equal(report['config session.force_spinning_stop'], spins ? '1' : undefined);
  assert.equal(report['config session.intra_op.spin_duration_us'], spins ? '50' : undefined);
  assert.equal(report['config session.inter_op.allow_spinning'], '0');
  assert.equal(report['config session.use_device_allocator_for_initializers'], undefined);
  assert.equal(plain.model('m').runtimeInfo().spinning, spins ? 'within runs' : 'off');

  const sleeping = await serveReport(t, { 'session.intra_op.allow_spinning': 0, intra_op_thread_count: 2 });
  assert.ok(sleeping);
  const told = await run(sleeping);
  assert.equal(told['config session.intra_op.allow_spinning'], '0');
  assert.equal(told['config session.force_spinning_stop'], undefined);
  assert.equal(sleeping.model('m').runtimeInfo().spinning, 'off');

  // This option alone gives the session its own threads, without a count.
  const spinning = await serveReport(t, { 'session.intra_op.allow_spinning': 1, intra_op_thread_count: 2 });
  assert.equal(spinning?.model('m').runtimeInfo().spinning, 'always');
  const server = await serve(t, {
    m: onnx(addModel(), { parameters: { 'session.intra_op.allow_spinning': 1 } }),
  });
  assert.equal(server.model('m').runtimeInfo().sharedPool, false);
});
