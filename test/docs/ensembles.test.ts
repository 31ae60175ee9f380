/** The example of docs/ensembles.md is served and called unchanged. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { onnx } from '../support/harness.js';
import { linkPackages, root } from '../support/project.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

void test('the ensemble of docs/ensembles.md is served and answers', async (t) => {
  const page = await readFile(join(root, 'docs', 'ensembles.md'), 'utf8');
  const config = /```text\n(platform: "ensemble"[^`]*)```/.exec(page)?.[1];
  const program = /```js\n([^`]*)```/.exec(page)?.[1];
  assert.ok(config !== undefined && program !== undefined);
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'models'));
  await writeRepository(join(folder, 'models'), {
    scale: onnx(),
    score: onnx(),
    mood: { config, versions: { '1': {} } },
  });
  await linkPackages(folder);
  await writeFile(join(folder, 'main.mjs'), `import { createServer } from 'tritonts';\n${program}`);
  const { stdout } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: folder });
  assert.match(stdout, /^Float32Array\(16\) \[\n(?:\s+2,?)+\s*\]\n$/);
});
