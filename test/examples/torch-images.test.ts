import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { optionsFor } from '../../examples/torch-images/options.js';
import { classifyTwice } from '../../examples/torch-images/pipeline.js';
import { rejection, start } from '../support/harness.js';
import { root } from '../support/project.js';
import { pythonOf, skipUnlessInstalled } from '../support/python-example.js';
import { temporaryFolder } from '../support/repository.js';

const skip = await skipUnlessInstalled('torch');

test(
  'pictures are decoded in Python and classified by PyTorch, and the cache answers the second time',
  { skip },
  async (t) => {
    const folder = await temporaryFolder(t);
    const script = join(root, 'examples', 'torch-images', 'train.py');
    await promisify(execFile)(pythonOf('torch'), [script, folder]);
    const server = await start(t, join(folder, 'models'), optionsFor(undefined));
    assert.equal(server.model('classifier').runtimeInfo().instances.length, 2);
    const { pictures, right, first, second } = await classifyTwice(server, join(folder, 'pictures'));
    assert.equal(pictures, 360);
    assert.ok(right >= 0.95 * pictures, `${right} right`);
    assert.deepEqual(second.digits, first.digits);
    assert.deepEqual([first.hits, second.hits], [0, pictures]);
    const error = await rejection(server.infer('picture', { file: [['no picture']] }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /expected a JPEG or PNG file/);
  },
);
