import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';

const types = await readFile(new URL('../../src/index.d.ts', import.meta.url), 'utf8');

/** Comments with the line that follows them. */
const documented = [...types.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/(?=\n\s*([^\n]*))/g)].map(
  ([, comment = '', line = '']) => ({ comment, line }),
);

void suite('the comments of the public names', () => {
  const declared = [...types.matchAll(/^(?:export )?declare (?:abstract )?(?:class|function) (\w+).*$/gm)];

  test('there are classes and functions', () => {
    assert.deepEqual([...new Set(declared.map(([, name]) => name))].sort(), [
      'InferenceServer',
      'Tensor',
      'TritonError',
      'attachServer',
      'createServer',
      'registerBackend',
      'registerCache',
      'registerRepositoryAgent',
    ]);
  });

  for (const [line, name = ''] of declared) {
    test(`${name} has an example`, () => {
      const found = documented.find((each) => each.line === line);
      assert.ok(found?.comment.includes('@example'), line);
    });
  }

  test('say in one form what is thrown', () => {
    const throws = documented.flatMap(({ comment }) => [...comment.matchAll(/@throws (.*)/g)]);
    assert.ok(throws.length > 10);
    for (const [all, text = ''] of throws) {
      assert.match(text, /^\{@link TritonError\} [A-Z_]{8,}/, all);
    }
  });
});
