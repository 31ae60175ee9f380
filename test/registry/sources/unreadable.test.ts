/** Files and folders that the server's user may not read: listings, loads, polls and checks. */

import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { test } from 'node:test';
import { runChild } from '../../support/child.js';
import { temporaryFolder } from '../../support/repository.js';

const program = new URL('unreadable-program.js', import.meta.url);

test('what may not be read is told of by its path, and changes nothing of what is served', async (t) => {
  if (process.getuid === undefined) {
    t.skip('this system has other rights');
    return;
  }
  const folder = await temporaryFolder(t);
  // The child may be another user.
  await chmod(folder, 0o777);
  const { code, signal, stdout, stderr } = await runChild(program, [folder]);
  if (/EPERM.*set[ug]id|EPERM.*setgroups/s.test(stderr)) {
    t.skip('the superuser of this system may not become another user');
    return;
  }
  assert.deepEqual([code, signal, stdout], [0, null, 'loads\npolls\n'], stderr);
});
