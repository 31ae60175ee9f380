/** Wrong options of repositories and of many models are refused by name, wherever they are given. `test/cli/serve/` has the flags. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createServer, type ServerOptions } from '../../src/index.js';
import { onnx, rejection, start } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

void suite('options of the program', () => {
  const wrong: readonly (readonly [keyof ServerOptions, readonly unknown[], RegExp])[] = [
    [
      'repositoryCacheBytes',
      [0, -1, 1.5, NaN, Infinity, '1', 2n],
      /an integer of at least 1 for options\.repositoryCacheBytes but received/,
    ],
    ['repositoryCacheDirectory', ['', 1, {}, 'a\0b'], /for options\.repositoryCacheDirectory but received/],
    [
      'memoryBudgetBytes',
      [0, -5, 0.5, NaN, Infinity, '1', 2n, []],
      /an integer of at least 1 for options\.memoryBudgetBytes but received/,
    ],
    ['load', ['never', '', 1, true, ['lazy']], /'eager' or 'lazy' for options\.load but received/],
    ['modelNamespacing', ['true', 1, {}], /true or false for options\.modelNamespacing but received/],
    ['repositoryAgentDirectory', ['', 1, {}, 'a\0b'], /for options\.repositoryAgentDirectory but received/],
    [
      'modelControlMode',
      ['polls', 1, {}],
      /'none', 'poll' or 'explicit' for options\.modelControlMode but received/,
    ],
  ];
  for (const [name, values, expected] of wrong)
    test(name, async () => {
      for (const value of values) {
        const { code, message } = await rejection(createServer('.', { [name]: value }));
        assert.equal(code, 'INVALID_ARG', message);
        assert.match(message, expected);
      }
    });

  test('modelRepository', async () => {
    for (const value of ['a\0b', new URL('file:///a%00b'), '']) {
      const { code, message } = await rejection(createServer(value));
      assert.equal(code, 'INVALID_ARG', message);
      assert.match(message, /for options\.modelRepository but received/);
    }
  });

  test('repositoryPollMs', async () => {
    for (const value of [-1, 0.5, NaN, 2 ** 31, '5']) {
      const options = { modelControlMode: 'poll', repositoryPollMs: value as number } as const;
      const { code, message } = await rejection(createServer('.', options));
      assert.equal(code, 'INVALID_ARG');
      assert.match(message, /for options\.repositoryPollMs but received/);
    }
  });
});

void suite('parameters of a configuration', () => {
  for (const [parameter, values] of Object.entries({
    load: ['', 'Lazy', 'yes', 'eager '],
    pinned: ['', 'yes', '2', 'maybe'],
  }))
    test(parameter, async (t) => {
      for (const value of values) {
        const model = onnx(addModel(), { parameters: { [parameter]: value } });
        const folder = await writeRepository(await temporaryFolder(t), { m: model });
        const { code, message } = await rejection(createServer(folder, { logger: {} }));
        assert.equal(code, 'INVALID_ARG', message);
        assert.ok(message.includes(parameter) && message.includes(JSON.stringify(value)), message);
      }
    });
});

test('names of a registered repository', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { base: onnx() });
  const other = await writeRepository(await temporaryFolder(t), { m: onnx() });
  const server = await start(t, folder, { modelControlMode: 'explicit' });
  for (const names of [
    1,
    'm',
    [],
    { m: 1 },
    { m: '' },
    { m: 'a/b' },
    { m: '..' },
    { '': 'n' },
    { m: 'n', k: 'n' },
  ]) {
    const { code, message } = await rejection(
      server.registerRepository(other, { names: names as unknown as Record<string, string> }),
    );
    assert.ok(['INVALID_ARG', 'ALREADY_EXISTS'].includes(code), `${JSON.stringify(names)}: ${message}`);
  }
  for (const options of [{ name: {} }, 5, 'names'])
    assert.equal(
      (await rejection(server.registerRepository(other, options as unknown as object))).code,
      'INVALID_ARG',
    );
  // None of these has left anything behind.
  await server.registerRepository(other, { names: { m: 'n' } });
  await server.loadModel('n');
});
