/**
 * Every operation that needs file descriptors is tried with none left, then with one, two and so on. It must fail
 * with an error, and the process must go on.
 */

import assert from 'node:assert/strict';
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { configText, onnx } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { adds, script, skip as noPython } from '../python/harness.js';

const skip = ((): string | false => {
  if (noPython !== false) return noPython;
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'there is no prlimit, which takes descriptors away from a process';
  }
})();

/** More descriptors than any operation here needs. */
const most = 64;

interface Outcome {
  readonly ok: boolean;
  readonly code?: string;
  readonly reason?: string;
  readonly message?: string;
}

test('whatever finds no file descriptor is an error of its model or request', { skip }, async (t) => {
  const javaScript = 'export default { execute: (rs) => rs.map((r) => ({ y: r.inputs.x.data })) };';
  const root = await writeRepository(await temporaryFolder(t), {
    python: script(adds),
    dies: script(`def execute(self, requests):
    if array(requests[0])[0, 0] == 1:
        os._exit(1)
    return [answer(array(request)) for request in requests]`),
    onnx: onnx(),
    javascript: {
      config: configText({ backend: 'javascript' }),
      versions: { '1': { 'model.mjs': javaScript } },
    },
  });
  const child = fork(fileURLToPath(new URL('./scarce-program.js', import.meta.url)), [root]);
  t.after(() => child.kill('SIGKILL'));
  const { pid = 0 } = child;
  const exit = once(child, 'exit');
  const ended = exit.then(([code, signal]) => {
    assert.fail(`the process has ended: ${String(code)} ${String(signal)}`);
  });
  ended.catch(() => undefined);
  const answer = async (): Promise<Outcome> => {
    const [outcome] = (await Promise.race([once(child, 'message'), ended])) as [Outcome];
    return outcome;
  };
  const act = (name: string): Promise<Outcome> => {
    const done = answer();
    child.send(name);
    return done;
  };
  /** Leaves the process this number of free descriptors. */
  const leave = (count: number): void => {
    const used = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
    let limit = 0;
    for (let free = 0; free < count || used.has(limit); limit++) if (!used.has(limit)) free++;
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
  };
  assert.ok((await answer()).ok);
  for (const name of ['python', 'python, written', 'javascript', 'onnx', 'lazy', 'metrics', 'server']) {
    assert.deepEqual(await act(name), { ok: true }, name);
    let count = 0;
    for (; count < most; count++) {
      leave(count);
      const { ok, code, reason, message } = await act(name);
      leave(1000);
      if (ok) break;
      assert.ok(name === 'metrics' || code !== '', `${name} with ${count}: ${message ?? ''}`);
      if (name.startsWith('python')) assert.equal(reason, 'NO_MEMORY', `with ${count}: ${message ?? ''}`);
    }
    assert.ok(count < most, name);
    assert.deepEqual(await act(name), { ok: true }, `${name} afterwards`);
  }
  // A socket that cannot be created is the call's error. No server listens there anyway.
  for (const count of [0, 1]) {
    leave(count);
    assert.equal((await act('client')).code, 'UNAVAILABLE');
    leave(1000);
  }
  assert.deepEqual(await act('prepare'), { ok: true });
  for (let count = 0; count < 8; count++) {
    leave(count);
    assert.equal((await act('restart')).ok, false);
    leave(1000);
    assert.deepEqual(await act('alive'), { ok: true }, `restarted with ${count}`);
  }
  assert.deepEqual(await act('end'), { ok: true });
  child.disconnect();
  assert.deepEqual(await exit, [0, null]);
});
