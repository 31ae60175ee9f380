import assert from 'node:assert/strict';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runPageProgram } from './page-program.js';

test("the page's program opens a socket, and removes it", async (t) => {
  const { stdout, folder } = await runPageProgram(t, 'top');
  assert.equal(stdout, `${join(folder, 'app.sock')}\n`);
  assert.equal(await lstat(join(folder, 'app.sock')).catch((): undefined => undefined), undefined);
});
