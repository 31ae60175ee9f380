/** `tritonts top` on a terminal: keys, sizes, colours, and servers that come and go. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { serveHttp } from '../../../src/endpoints/http/serve.js';
import { serveTop } from '../../../src/metrics/serve.js';
import { identity, row, serve, until, type Context } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { noTerminals, onTerminal, type OnTerminal } from './pseudo-terminal.js';

/** A server of two models, one of which gets requests all the time, and its socket. */
async function busyServer(t: Context): Promise<string> {
  const server = await serve(t, { alpha: identity(), beta: identity() });
  const timer = setInterval(() => {
    void server.infer('beta', { x: row() }).catch(() => undefined);
  }, 5);
  const endpoint = await serveTop(server, { path: join(await temporaryFolder(t), 's') });
  t.after(async () => {
    clearInterval(timer);
    await endpoint.close();
  });
  return endpoint.path;
}

void suite('on a terminal', { skip: noTerminals ?? false }, () => {
  void test('models are shown, keys sort, filter and pause, and the terminal is given back', async (t) => {
    const top = onTerminal(t, ['top', await busyServer(t), '-n', '0.2']);
    await top.shows(/beta +1 +READY +[1-9][\d.,]* /);
    assert.ok(top.isOtherPage());
    const order = (): string[] =>
      top
        .screen()
        .join('\n')
        .match(/^(alpha|beta)/gm) ?? [];
    assert.deepEqual(order(), ['beta', 'alpha']);
    top.keys('r');
    await top.shows(/alpha[^]*beta/);
    top.keys('/bet');
    await top.shows(/filter: bet_/);
    assert.deepEqual(order(), ['beta']);
    top.keys('\r');
    await top.shows(/filter 'bet'/);
    top.keys('\u001b');
    await top.shows(/alpha[^]*beta/);
    top.keys('\u001b[C');
    await top.shows(/sorted by fail\/s/);
    top.keys(' ');
    await top.shows(/PAUSED/);
    const still = top.screen();
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.deepEqual(top.screen(), still);
    top.keys('?');
    await top.shows(/successful requests a second/);
    top.keys('qq');
    assert.equal(await top.ended, 0);
    assert.ok(!top.isOtherPage());
    // The cursor and the wrapping of lines are as before.
    assert.match(top.raw(), /\u001b\[\?7h\u001b\[\?25h\u001b\[\?1049l\s*$/);
  });

  void test('the view fits a terminal whose size changes', async (t) => {
    const top = onTerminal(t, ['top', await busyServer(t), '-n', '0.2'], { columns: 170 });
    await top.shows(/batches *$/m);
    top.resize(10, 50);
    await top.shows(/^model +(?!.*memory).*req\/s/m);
    await top.shows(/q/);
    for (const line of top.screen()) assert.ok(line.length < 50, line);
    top.resize(30, 170);
    await top.shows(/batches *$/m);
    assert.match(top.screen()[29] ?? '', /q quit$/);
    top.keys('\u0003');
    assert.equal(await top.ended, 130);
  });

  void test('only what changes is written, and nothing erases the screen', async (t) => {
    const server = await serve(t, { alpha: identity() });
    const endpoint = await serveTop(server, { path: join(await temporaryFolder(t), 's') });
    t.after(() => endpoint.close());
    const { path } = endpoint;
    const top = onTerminal(t, ['top', path, '-n', '0.1']);
    await top.shows(/alpha +1 +READY +0 /);
    const before = top.raw().length;
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const later = top.raw().slice(before);
    assert.doesNotMatch(later, /\u001b\[2J/);
    // Ten readings of an idle server: the machine's line changes, and the table does not.
    assert.doesNotMatch(later, /alpha/);
    top.keys('q');
    assert.equal(await top.ended, 0);
  });

  void test('NO_COLOR leaves the colours out', async (t) => {
    const path = await busyServer(t);
    const plain = onTerminal(t, ['top', path, '-n', '0.2'], { env: { NO_COLOR: '1' } });
    const coloured = onTerminal(t, ['top', path, '-n', '0.2'], { env: { NO_COLOR: '' } });
    await Promise.all([plain, coloured].map((top) => top.shows(/beta +1 +READY +[1-9]/)));
    assert.doesNotMatch(plain.raw(), /\u001b\[[\d;]*m/);
    assert.match(coloured.raw(), /\u001b\[32mREADY/);
    for (const top of [plain, coloured]) top.keys('q');
    assert.deepEqual(await Promise.all([plain.ended, coloured.ended]), [0, 0]);
  });

  void test('a server that goes away and comes back is shown again', async (t) => {
    const server = await serve(t, { alpha: identity() });
    const first = await serveHttp(server, { port: 0 });
    const { port } = first.address;
    const top = onTerminal(t, ['top', `127.0.0.1:${port}`, '-n', '0.2']);
    await top.shows(/alpha +1 +READY +0 /);
    await first.close({ timeoutMs: 0 });
    await top.shows(/^gone, trying again: UNAVAILABLE: [^]*alpha/);
    const second = await serveHttp(server, { port });
    t.after(() => second.close({ timeoutMs: 0 }));
    await top.shows(/^(?![^]*trying again)[^]*alpha +1 +READY +0 /);
    top.keys('q');
    assert.equal(await top.ended, 0);
  });

  const noStates = process.platform === 'linux' ? undefined : 'the states of processes are read in /proc';
  for (const [how, stop] of [
    [
      'Ctrl-Z',
      (top: OnTerminal) => {
        top.keys('\u001a');
      },
    ],
    [
      'SIGTSTP',
      (top: OnTerminal) => {
        top.signal('SIGTSTP');
      },
    ],
  ] as const)
    void test(
      `${how} gives the terminal back until the command goes on`,
      { skip: noStates ?? false },
      async (t) => {
        const top = onTerminal(t, ['top', await busyServer(t), '-n', '0.2']);
        const becomes = async (state: string): Promise<void> => {
          let now = '';
          for (const end = Date.now() + 30_000; now !== state && Date.now() < end;) now = await top.state();
          assert.equal(now, state);
        };
        for (let time = 0; time < 2; time++) {
          await top.shows(/beta +1 +READY/);
          await becomes('running keys');
          await until(() => top.isOtherPage());
          stop(top);
          await becomes('stopped lines');
          await until(() => !top.isOtherPage());
          // The cursor and the wrapping of lines are as before.
          assert.ok(top.raw().includes('\u001b[?7h\u001b[?25h\u001b[?1049l'));
          top.signal('SIGCONT');
        }
        await top.shows(/beta +1 +READY/);
        top.keys('q');
        assert.equal(await top.ended, 0);
        assert.ok(!top.isOtherPage());
      },
    );

  void test(
    'a command that is stopped from outside takes the terminal again when it goes on',
    { skip: noStates ?? false },
    async (t) => {
      const top = onTerminal(t, ['top', await busyServer(t), '-n', '0.2']);
      await top.shows(/beta +1 +READY/);
      top.signal('SIGSTOP');
      while (!(await top.state()).startsWith('stopped'));
      // As a shell does, which then has the terminal.
      top.cook();
      while ((await top.state()) !== 'stopped lines');
      top.signal('SIGCONT');
      while ((await top.state()) !== 'running keys');
      await top.shows(/beta +1 +READY/);
      top.keys('q');
      assert.equal(await top.ended, 0);
    },
  );

  void test('a signal gives the terminal back', async (t) => {
    const top = onTerminal(t, ['top', await busyServer(t), '-n', '0.2']);
    await top.shows(/beta +1 +READY/);
    top.child.kill('SIGTERM');
    assert.equal(await top.ended, 143);
    assert.ok(!top.isOtherPage());
  });
});
