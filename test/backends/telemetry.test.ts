/** ONNX Runtime must not store telemetry about served models. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findOnnxRuntimeLibrary } from '../../src/backends/onnxruntime/library.js';
import { onnx } from '../support/harness.js';
import { writeRepository } from '../support/repository.js';
import type { Asked } from './programs/serve-once.js';

const program = fileURLToPath(new URL('programs/serve-once.js', import.meta.url));

/** Any of these variables switches the runtime's telemetry off. */
const silencing = [
  'ORT_DISABLE_TELEMETRY',
  'ORT_TELEMETRY_DISABLED',
  'ORT_RUNNING_UNIT_TESTS',
  'CI',
  'TF_BUILD',
  'GITHUB_ACTIONS',
  'GITLAB_CI',
  'CIRCLECI',
  'TRAVIS',
  'JENKINS_URL',
  'CODEBUILD_BUILD_ID',
  'BUILDKITE',
  'TEAMCITY_VERSION',
  'APPVEYOR',
];

/** The files that a process with a home of its own leaves there after it has served a model. */
async function leftAtHome(
  context: TestContext,
  variables: Readonly<Record<string, string>>,
): Promise<{ readonly name: string; readonly text: string }[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-'));
  context.after(() => rm(folder, { recursive: true }));
  const repository = join(folder, 'models');
  await writeRepository(repository, { add: onnx() });
  // There is no network, because events that were sent would not be stored.
  const nowhere = 'http://127.0.0.1:9';
  const home = join(folder, 'home');
  const env = { HOME: home, XDG_CACHE_HOME: home, https_proxy: nowhere, all_proxy: nowhere, ...variables };
  const asked: Asked = { repository, library: findOnnxRuntimeLibrary() };
  await promisify(execFile)(process.execPath, [program, JSON.stringify(asked)], {
    env: {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !silencing.includes(name))),
      ...env,
    },
  });
  const files = await readdir(home, { recursive: true, withFileTypes: true }).catch(() => []);
  return Promise.all(
    files
      .filter((file) => file.isFile())
      .map(async ({ name, parentPath }) => ({
        name,
        text: await readFile(join(parentPath, name), 'latin1'),
      })),
  );
}

test('the runtime leaves nothing in the home of the user', async (context) => {
  const left = await leftAtHome(context, {});
  assert.deepEqual(
    left.map(({ name }) => name),
    [],
  );
});

test('if the user turns its telemetry on, the runtime keeps nothing about models to tell its maker', async (context) => {
  const left = await leftAtHome(context, { ORT_DISABLE_TELEMETRY: '0' });
  const kept = left
    .filter(({ name }) => name.startsWith('onnxruntime.db'))
    .map(({ text }) => text)
    .join('');
  // The runtime emits this event when it is opened.
  if (!kept.includes('ProcessInfo')) {
    context.skip('this runtime keeps nothing at all');
    return;
  }
  const told = kept.match(/SessionCreation|ModelLoad|modelFileName|modelGraphName/g) ?? [];
  assert.deepEqual([...new Set(told)], []);
});
