/** What a worker leaves that is terminated while it owns processes of Python models. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { until } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { adds, script, skip } from './harness.js';

const times = 10;
const program = fileURLToPath(new URL('./workers/owner.js', import.meta.url));

/** The children of this process, those that nobody has waited for, too. */
function children(): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1] === `${process.pid}`;
    } catch {
      return false;
    }
  });
}

/** Says that it has begun, and stays. */
const stays = (file: string): string => `open(${JSON.stringify(file)}, "w").close(); time.sleep(3600)`;

/** What the worker's model is doing when the worker ends. */
const stages = {
  serving: () => adds,
  initializing: (file: string) => `def initialize(self, args):\n    ${stays(file)}\n${adds}`,
  'completing its configuration': (file: string) =>
    `@staticmethod\ndef auto_complete_config(config):\n    ${stays(file)}\n${adds}`,
  'starting a program of its own': (file: string) => `def initialize(self, args):
    import subprocess
    subprocess.Popen(["sleep", "3600"])
    ${stays(file)}
${adds}`,
} as const;

async function terminateOne(t: TestContext, model: (file: string) => string, number: number): Promise<void> {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'begun');
  const repository = await writeRepository(join(folder, 'models'), { python: script(model(file)) });
  const worker = new Worker(program, { workerData: { repository } });
  let serves = false;
  worker.on('message', () => (serves = true));
  let failed: unknown;
  worker.on('error', (error) => (failed = error));
  await until(() => serves || existsSync(file) || failed !== undefined);
  assert.equal(failed, undefined, `worker ${number}`);
  assert.ok(children().length > 0);
  await worker.terminate();
}

for (const [stage, model] of Object.entries(stages)) {
  test(`a worker that is terminated while a model is ${stage} leaves no child`, { skip }, async (t) => {
    assert.deepEqual(children(), []);
    for (let number = 0; number < times; number++) await terminateOne(t, model, number);
    await until(() => children().length === 0).catch(() => undefined);
    assert.deepEqual(children(), [], 'children that nobody waited for');
  });
}
