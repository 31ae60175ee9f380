import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { compare, type HeldOut } from '../../examples/torch/compare.js';
import { start } from '../support/harness.js';
import { root } from '../support/project.js';
import { pythonOf, skipUnlessInstalled } from '../support/python-example.js';
import { temporaryFolder } from '../support/repository.js';

const skip = await skipUnlessInstalled('torch');

test('a network of PyTorch answers here as it does there, in batches', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  await promisify(execFile)(pythonOf('torch'), [join(root, 'examples', 'torch', 'train.py'), folder]);
  const heldOut = JSON.parse(await readFile(join(folder, 'held-out.json'), 'utf8')) as HeldOut;
  const server = await start(t, join(folder, 'models'));
  const model = server.model('digits');
  const { input, output } = model.config;
  assert.deepEqual(
    [...input, ...output].map(({ name, dims }) => [name, dims]),
    [
      ['image', [64]],
      ['scores', [10]],
    ],
  );
  const { images, right, largestDifference, largestBatch } = await compare(model, heldOut);
  assert.equal(images, 360);
  assert.ok(right >= 0.95 * images, `${right} right`);
  // Both compute in FP32, in another order. A missing score would be NaN.
  assert.ok(largestDifference < 1e-5, `scores differ by ${largestDifference} of the largest`);
  assert.ok(largestBatch > 1);
});
