/** ONNX Runtime must not store telemetry about served models. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
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

test('the runtime keeps nothing about models to tell its maker', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-'));
  context.after(() => rm(folder, { recursive: true }));
  const repository = join(folder, 'models');
  await writeRepository(repository, { add: onnx() });
  // The process has its own home and no network, because events that were sent would not be stored.
  const nowhere = 'http://127.0.0.1:9';
  const home = join(folder, 'home');
  const env = { HOME: home, XDG_CACHE_HOME: home, https_proxy: nowhere, all_proxy: nowhere };
  const asked: Asked = { repository, library: findOnnxRuntimeLibrary() };
  await promisify(execFile)(process.execPath, [program, JSON.stringify(asked)], {
    env: {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !silencing.includes(name))),
      ...env,
    },
  });
  const files = await readdir(home, { recursive: true, withFileTypes: true }).catch(() => []);
  let kept = '';
  for (const file of files) {
    if (!file.name.startsWith('onnxruntime.db')) continue;
    kept += await readFile(join(file.parentPath, file.name), 'latin1');
  }
  // The runtime emits this event when it is opened. Users can disable it with the environment variable.
  if (!kept.includes('ProcessInfo')) {
    context.skip('this runtime keeps nothing at all');
    return;
  }
  const told = kept.match(/SessionCreation|ModelLoad|modelFileName|modelGraphName/g) ?? [];
  assert.deepEqual([...new Set(told)], []);
});
