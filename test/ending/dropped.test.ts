// Long: it starts many processes.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Context } from '../support/harness.js';
import { runEnding } from './harness.js';

const flags = ['--expose-gc', '--no-warnings'];

/** The output of the program after 'ready'. */
async function said(context: Context, kept: string): Promise<string> {
  const { code, signal, stdout, stderr } = await runEnding(context, 'dropped', [kept], { flags });
  assert.deepEqual([signal ?? code, stderr], [0, ''], stdout);
  return stdout.replace(/^ready\n/, '');
}

void suite('of a server that is dropped without close(),', { concurrency: 2 }, () => {
  test('the threads end when it is collected, and a warning names its repository', async (t) => {
    assert.equal(
      await said(t, 'nothing'),
      'the server of <repository> was dropped without close(), and is closed now; await its close() when it is no ' +
        'longer needed\n',
    );
  });

  test('polls of its repository do not keep it', async (t) => {
    assert.match(
      await said(t, 'polled'),
      /^the server of <repository> was dropped without close\(\)[^\n]*\n$/,
    );
  });

  test('a model that is kept keeps it', async (t) => {
    assert.equal(await said(t, 'model'), '0\ntrue\n');
  });

  test('a request in flight is answered', async (t) => {
    assert.equal(await said(t, 'request'), 'answered\ntold\n');
  });

  test('a handle that was asked for keeps it, because it may be in use by another thread', async (t) => {
    assert.equal(await said(t, 'handle'), '0\nserved\n');
  });

  test('nothing is said when it was closed', async (t) => {
    assert.equal(await said(t, 'closed'), '0\n');
  });

  test('a dropped connection causes a warning, too, and the server goes on', async (t) => {
    assert.equal(
      await said(t, 'connection'),
      'the connection of attachServer() to a server was dropped without close(), and is closed now; await its close() ' +
        'when it is no longer needed\n',
    );
  });
});
