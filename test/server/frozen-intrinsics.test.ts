import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChild } from '../support/child.js';

test('everything works where the objects of the language are frozen (node --frozen-intrinsics)', async () => {
  const { code, stdout, stderr } = await runChild(
    new URL('programs/frozen-intrinsics.js', import.meta.url),
    [],
    {
      flags: ['--frozen-intrinsics', '--no-warnings'],
    },
  );
  assert.deepEqual([code, stdout], [0, 'done\n'], stderr);
});
