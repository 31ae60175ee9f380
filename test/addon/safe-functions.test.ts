import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { runChild } from '../support/child.js';
import { temporaryFolder } from '../support/repository.js';
import { sanitized } from '../support/sanitizer.js';

const skip =
  process.platform === 'linux' && !sanitized ? false : "the tests' addon can't make them fail here";

void suite('an environment that has no thread-safe function', { skip }, () => {
  const outcomes: readonly (readonly [what: string, left: string, outcome: RegExp])[] = [
    [
      'for the addon is told so, and the addon is not loaded',
      '0',
      /^ready\nUNAVAILABLE: the native addon .*cannot create a thread-safe function/s,
    ],
    ['for a server has none', '1', /^ready\nUNAVAILABLE: .*connection to the server\n$/],
    ['more than these two needs no more', '2', /^ready\nwent well\n$/],
  ];
  for (const [what, left, outcome] of outcomes) {
    test(what, async (t) => {
      const program = new URL('children/create.js', import.meta.url);
      const env = { TRITONTS_TEST_SAFE_FUNCTIONS: left };
      const { code, signal, stdout, stderr } = await runChild(program, [await temporaryFolder(t)], { env });
      assert.deepEqual([signal ?? code, stderr], [0, ''], stdout);
      assert.match(stdout, outcome);
    });
  }
});
