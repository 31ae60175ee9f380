import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runPageProgram } from './page-program.js';

test("the page's program serves the web page", async (t) => {
  const { stdout } = await runPageProgram(t, 'ui');
  assert.equal(stdout, '200 text/html; charset=utf-8\n');
});
