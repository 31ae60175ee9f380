import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { compare, type HeldOut } from '../../examples/sklearn/compare.js';
import { start } from '../support/harness.js';
import { root } from '../support/project.js';
import { pythonOf, skipUnlessInstalled } from '../support/python-example.js';
import { temporaryFolder } from '../support/repository.js';

const skip = await skipUnlessInstalled('sklearn');

test('a classifier of scikit-learn answers here as it does there', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  await promisify(execFile)(pythonOf('sklearn'), [join(root, 'examples', 'sklearn', 'train.py'), folder]);
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
