/** Plug-ins that hang in an initialiser, and what they have written to the log when the process exits. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lateMs, tellIfLate } from '../../../src/late.js';
import type { Log } from '../../../src/logger.js';
import { anyLength, identity } from '../../support/harness.js';
import { runChild } from '../../support/child.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { pluginFolder, breakerOptions as options, pluginModel, skip } from './own-plugins.js';

const breaking = (what: string): ReturnType<typeof pluginModel> =>
  pluginModel('breaker', { ...options, parameters: { break: what } });
const models = {
  backend: breaking(''),
  second: breaking(''),
  model: breaking('model_initialize_hangs'),
  instance: breaking('instance_initialize_hangs'),
  echo: identity({ ...anyLength, maxBatchSize: 8 }),
};

for (const hanging of ['backend', 'model', 'instance'] as const) {
  test(`an initialiser that hangs holds up no other load and no end: ${hanging}`, { skip }, async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), models);
    const program = new URL('children/hanging.js', import.meta.url);
    const [exit, close] = await Promise.all(
      ['exit', 'close'].map((ending) => runChild(program, [repository, pluginFolder, hanging, ending])),
    );
    assert.deepEqual([exit?.code, exit?.stdout], [7, 'ready\necho: [[1,2]]\n'], JSON.stringify(exit));
    assert.equal(close?.code, 0, JSON.stringify(close));
    assert.match(close.stdout, /^ready\necho: \[\[1,2\]\]\n[^]*did not return[^]*closed\n/);
  });
}

test('the log tells of what does not end', async () => {
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) } as unknown as Log;
  let end = (): void => undefined;
  const load = new Promise<string>((resolve) => {
    end = () => {
      resolve('loaded');
    };
  });
  const told = tellIfLate(log, 'it has not ended', {}, load, 10);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(warnings, ['it has not ended after 0.01 s']);
  end();
  assert.equal(await told, 'loaded');
  assert.equal(await tellIfLate(log, 'it has not ended', {}, Promise.resolve(1), 10), 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(warnings.length, 1);
  assert.equal(lateMs, 60_000);
});

test('what a plug-in has written when the process exits is in the log', { skip }, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { breaker: breaking('') });
  const program = new URL('children/last-words.js', import.meta.url);
  const { code, stdout } = await runChild(program, [repository, pluginFolder]);
  assert.equal(code, 7);
  const lines = stdout.split('\n');
  const at = lines.findIndex((line) => line.startsWith('exits after'));
  assert.ok(at >= 0 && at <= 1000, `${at} messages came before the exit`);
  lines.splice(at, 1);
  assert.deepEqual(
    lines,
    Array.from({ length: 3000 }, (_, i) => `line ${i}`),
  );
});
