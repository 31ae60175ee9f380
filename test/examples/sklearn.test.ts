import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compare, type HeldOut } from '../../examples/sklearn/compare.js';
import { start } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const sources = join(root, 'examples', 'sklearn');
const venv = join(root, '.venv-sklearn');
const python = join(venv, ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']));

const wanted = await readFile(join(sources, 'requirements.txt'), 'utf8');
const installed = await readFile(join(venv, 'requirements.txt'), 'utf8').catch(() => undefined);
const skip =
  installed === wanted
    ? false
    : "examples/sklearn is NOT tested: Python's packages are not installed. Run 'npm run demo -- sklearn' once";
if (skip !== false) console.error(skip);

test('a classifier of scikit-learn answers here as it does there', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  await promisify(execFile)(python, [join(sources, 'train.py'), folder]);
  const heldOut = JSON.parse(await readFile(join(folder, 'held-out.json'), 'utf8')) as HeldOut;
  const server = await start(t, join(folder, 'models'));
  const model = server.model('digits');
  assert.equal(model.config.max_batch_size, 64);
  const { images, sameLabels, largestDifference } = await compare(model, heldOut);
  assert.equal(images, 360);
  assert.equal(sameLabels, images);
  // The server computes in FP32, and scikit-learn in FP64. A missing class would be NaN.
  assert.ok(largestDifference < 1e-4, `probabilities differ by ${largestDifference}`);
});
