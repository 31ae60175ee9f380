/** A worker that ends while it owns processes of Python models leaves nothing behind. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { until } from '../support/harness.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { adds, script, skip } from './harness.js';
import type { Ownership } from './workers/owner.js';

const times = 10;
const program = fileURLToPath(new URL('./workers/owner.js', import.meta.url));

/** The children of this process, zombies included. */
function children(): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1] === `${process.pid}`;
    } catch {
      return false;
    }
  });
}

/** The targets of this process' descriptors, without the numbers of sockets and pipes. */
function descriptors(): string[] {
  const names: string[] = [];
  for (const name of readdirSync('/proc/self/fd')) {
    try {
      names.push(readlinkSync(`/proc/self/fd/${name}`).replace(/\[\d+\]$/, ''));
    } catch {
      // The descriptor of the directory itself is closed by now.
    }
  }
  return names.sort();
}

/** Named memory mappings. Anonymous memory is left out, because V8 and the allocator keep it. */
function mappings(): string[] {
  const lines = readFileSync('/proc/self/maps', 'utf8').trim().split('\n');
  const names = lines.map((line) => line.split(/\s+/).slice(5).join(' '));
  return names.filter((name) => name !== '').sort();
}

/** Statements that report the start with a file, and then wait. */
const stays = (file: string): string => `open(${JSON.stringify(file)}, "w").close(); time.sleep(3600)`;

interface Stage extends Omit<Ownership, 'repository'> {
  /** A model that creates the file at the point where the worker is to end. */
  readonly model: (file: string, folder: string) => RepositoryModel;
  /** Whether the model creates the file; otherwise the worker reports when it serves. */
  readonly tells?: boolean;
}

/** A model with an archive as its environment, whose unpacking takes for ever. */
function unpacking(file: string, folder: string): RepositoryModel {
  const bin = join(folder, 'environment', 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'conda-unpack'), '');
  writeFileSync(join(bin, 'python'), `#!/bin/sh\n: > ${JSON.stringify(file)}\nexec sleep 3600\n`);
  chmodSync(join(bin, 'python'), 0o755);
  const archive = join(folder, 'environment.tar');
  execFileSync('tar', ['-cf', archive, '-C', join(folder, 'environment'), '.']);
  const model = script(adds, {
    parameters: { EXECUTION_ENV_PATH: '$$TRITON_MODEL_DIRECTORY/environment.tar' },
  });
  return { ...model, files: { 'environment.tar': readFileSync(archive) } };
}

/** The activity of the worker's model when the worker ends. */
const stages: Readonly<Record<string, Stage>> = {
  'about to get its process': { exits: 'before spawn', model: () => script(adds) },
  'given its process': { exits: 'after spawn', model: () => script(adds) },
  'unpacking its environment': { tells: true, model: unpacking },
  'completing its configuration': {
    tells: true,
    model: (file) => script(`@staticmethod\ndef auto_complete_config(config):\n    ${stays(file)}\n${adds}`),
  },
  initializing: {
    tells: true,
    model: (file) => script(`def initialize(self, args):\n    ${stays(file)}\n${adds}`),
  },
  'starting a program of its own': {
    tells: true,
    model: (file) =>
      script(`def initialize(self, args):
    import subprocess
    subprocess.Popen(["sleep", "3600"])
    ${stays(file)}
${adds}`),
  },
  serving: { model: () => script(adds) },
  'running a batch': {
    infers: true,
    tells: true,
    model: (file) => script(`def execute(self, requests):\n    ${stays(file)}`),
  },
};

/** The names that are there more often than before. */
function beyond(now: readonly string[], before: readonly string[]): readonly string[] {
  const known = [...before];
  return now.filter((name) => {
    const at = known.indexOf(name);
    if (at >= 0) known.splice(at, 1);
    return at < 0;
  });
}

async function endOne(t: TestContext, stage: Stage, terminates: boolean): Promise<void> {
  const { model, tells, ...ownership } = stage;
  const folder = await temporaryFolder(t);
  const file = join(folder, 'begun');
  const repository = await writeRepository(join(folder, 'models'), { python: model(file, folder) });
  const workerData: Ownership = { repository, ...ownership };
  const worker = new Worker(program, { workerData });
  const exit = new Promise<void>((resolve) =>
    worker.once('exit', () => {
      resolve();
    }),
  );
  let serves = false;
  worker.on('message', () => (serves = true));
  let failed: unknown;
  worker.on('error', (error) => (failed = error));
  if (stage.exits === undefined) {
    await until(() => (tells === true ? existsSync(file) : serves) || failed !== undefined);
    assert.equal(failed, undefined);
    assert.ok(children().length > 0);
    if (terminates) void worker.terminate();
    else worker.postMessage('exit');
  }
  await exit;
  assert.equal(failed, undefined);
}

for (const [name, stage] of Object.entries(stages)) {
  for (const [way, terminates] of [
    ['is terminated', true],
    ['exits', false],
  ] as const) {
    // In these stages the worker ends by itself.
    if (stage.exits !== undefined && terminates) continue;
    test(`a worker that ${way} while a model is ${name} leaves nothing`, { skip }, async (t) => {
      const others = children();
      // The first worker creates process-wide resources, which stay.
      await endOne(t, stage, terminates);
      await until(() => children().length <= others.length).catch(() => undefined);
      const before = { descriptors: descriptors(), mappings: mappings() };
      for (let number = 0; number < times; number++) await endOne(t, stage, terminates);
      // Something of the first worker may have been freed only after it was counted.
      const left = (): readonly string[] => [
        ...beyond(children(), others),
        ...beyond(mappings(), before.mappings),
        ...beyond(descriptors(), before.descriptors),
      ];
      await until(() => left().length === 0).catch(() => undefined);
      assert.deepEqual(left(), []);
    });
  }
}
