/** The settings that the native side gets, and what it does with them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChild } from '../../support/child.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { type TorchOptions, eachWay, elements, matrix, needsPyTorch, serve, torch } from './models.js';

const program = new URL('threads.js', import.meta.url);

eachWay('a model runs the same without inference mode, and without optimisation', async (t) => {
  const variants: Readonly<Record<string, TorchOptions>> = {
    plain: {},
    no_inference_mode: { parameters: { INFERENCE_MODE: 'off' } },
    not_optimised: { parameters: { DISABLE_OPTIMIZED_EXECUTION: 'True' } },
    of_gpus: { parameters: { DISABLE_CUDNN: '1', ENABLE_CACHE_CLEANING: '0' } },
    switches: {
      parameters: { ENABLE_JIT_EXECUTOR: 'true', ENABLE_JIT_PROFILING: 'true', ENABLE_TENSOR_FUSER: 'false' },
    },
  };
  const models = await Promise.all(
    Object.entries(variants).map(
      async ([name, options]) => [name, await torch('in_place', options)] as const,
    ),
  );
  const server = await serve(t, Object.fromEntries(models));
  for (const name of Object.keys(variants)) {
    for (let round = 0; round < 4; round++)
      assert.deepEqual(elements(await server.infer(name, matrix('x', [[1, 2]]))), [2, 3], name);
  }
  assert.match(server.model('of_gpus').notes.join('\n'), /DISABLE_CUDNN.*for instances on GPUs/);
});

test(
  'state of a model lasts, and is that of an instance unless instances share it',
  needsPyTorch,
  async (t) => {
    const server = await serve(t, {
      m: await torch('count', { parameters: { INFERENCE_MODE: 'false' } }),
      shared: await torch('count', {
        instances: 4,
        parameters: { ENABLE_WEIGHT_SHARING: 'true', inline: 'off' },
      }),
    });
    for (let i = 1; i < 5; i++) assert.deepEqual(elements(await server.infer('m', matrix('x', [[0]]))), [i]);
    for (let i = 1; i < 9; i++)
      assert.deepEqual(elements(await server.infer('shared', matrix('x', [[0]]))), [i]);
  },
);

test(
  'the first model that writes a number of threads decides, and others are told',
  needsPyTorch,
  async (t) => {
    const threads = (intra: number): TorchOptions => ({
      parameters: { INTRA_OP_THREAD_COUNT: intra, INTER_OP_THREAD_COUNT: intra + 1 },
    });
    const repository = await writeRepository(await temporaryFolder(t), {
      plain: await torch('twice'),
      first: await torch('twice', threads(3)),
      second: await torch('twice', threads(5)),
      same: await torch('twice', threads(3)),
    });
    const { code, stdout, stderr } = await runChild(program, [
      repository,
      'plain',
      'first',
      'second',
      'same',
    ]);
    assert.deepEqual([code, stderr], [0, '']);
    const told = JSON.parse(stdout) as Readonly<
      Record<string, { readonly threads: number; readonly notes: string[] }>
    >;
    assert.deepEqual(
      Object.values(told).map(({ threads }) => threads),
      [2, 3, 3, 3],
    );
    assert.deepEqual(told['first']?.notes, []);
    assert.deepEqual(told['same']?.notes, []);
    assert.deepEqual(told['second']?.notes, [
      'parameters["INTRA_OP_THREAD_COUNT"]: 5 has no effect, because another model has set 3 for the process',
      'parameters["INTER_OP_THREAD_COUNT"]: 6 has no effect, because another model has set 4 for the process',
    ]);
  },
);

test('what a model prints is not on the standard output', needsPyTorch, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { says: await torch('says') });
  const { code, stdout, stderr } = await runChild(program, [repository, 'says']);
  assert.equal(code, 0);
  assert.deepEqual(Object.keys(JSON.parse(stdout) as object), ['says']);
  assert.match(stderr, /it says 1/);
});
