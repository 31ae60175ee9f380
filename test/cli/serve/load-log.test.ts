// Long: it starts many processes.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { LoadLog } from '../../../src/cli/serve/load-log.js';
import { packageVersion } from '../../../src/version.js';
import { configText, identity, until } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { anyPorts, repositoryOf, run } from './harness.js';

test('a start tells its version and folders, and each load as it begins, while it is slow, and when it ends', async (t) => {
  const go = join(await temporaryFolder(t), 'go');
  const waiting = `import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
export default class {
  async initialize() { while (!existsSync(${JSON.stringify(go)})) await setTimeout(20); }
  execute() {}
}`;
  const repository = await repositoryOf(t, {
    quick: identity(),
    slow: { config: configText({ backend: 'javascript' }), versions: { '1': { 'model.mjs': waiting } } },
  });
  const served = run(t, repository, ...anyPorts);
  await served.said(/model 'quick': version 1 ready in \d\.\d+ s\n/);
  await served.said(/model 'slow': still loading after \d+ s\n/);
  await writeFile(go, '');
  await served.said(/model 'slow': version 1 ready in \d+\.\d s\n/);
  await served.place('Metrics Service');
  const text = served.log();
  const first = `tritonts ${packageVersion}, Node ${process.version}, ${process.platform}-${process.arch}; model repository ${resolve(repository)}\n`;
  assert.ok(text.split('tritonts] ')[1] === first || text.includes(`] ${first}`), text);
  for (const name of ['quick', 'slow']) {
    assert.equal(text.split(`model '${name}': loading (0 of 2 done)`).length, 2, text);
    assert.equal(text.split(`model '${name}': version 1 ready`).length, 2, text);
  }
  assert.doesNotMatch(text, /'quick': still loading/);
});

test('only loads that go on are told of again, with what they do; nothing is when all have ended', async () => {
  const lines: string[] = [];
  const log = new LoadLog((line) => lines.push(line), 30);
  const step = (
    model: string,
    state: 'LOADING' | 'WARMING_UP' | 'READY' | 'UNAVAILABLE',
    version?: string,
  ) => {
    log.step({ model, version, state, done: 0, total: 2 });
  };
  step('a', 'LOADING');
  step('b', 'LOADING');
  step('a', 'LOADING', '1');
  step('b', 'UNAVAILABLE');
  const said = (start: string): boolean => lines.some((line) => line.startsWith(start));
  await until(() => said("model 'a': still loading after "));
  step('a', 'WARMING_UP', '1');
  await until(() => said("model 'a': still warming up after "));
  assert.deepEqual(
    lines.filter((line) => line.includes("'b'")),
    ["model 'b': loading (0 of 2 done)"],
  );
  step('a', 'READY', '1');
  // One more version of the same load.
  step('a', 'READY', '2');
  const count = lines.length;
  const later = performance.now() + 100;
  await until(() => performance.now() > later);
  assert.equal(lines.length, count);
});
