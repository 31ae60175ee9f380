import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { runChild } from '../support/child.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

/** A model whose classes have names, in a file of their own. */
const labelled = {
  config: `backend: "identity"
    input { name: "x" data_type: TYPE_FP32 dims: 4 }
    output { name: "y" data_type: TYPE_FP32 dims: 4 label_filename: "labels.txt" }`,
  files: { 'labels.txt': 'a\nb\nc\nd\n' },
  versions: { '1': {} },
};

const skip = spawnSync('mkfifo', ['--version']).status === 0 ? false : 'there is no mkfifo';

test(
  'close() comes to its end although a load waits for files that the system does not read',
  { skip },
  async (t) => {
    const folder = await temporaryFolder(t);
    const repository = await writeRepository(join(folder, 'models'), { labelled });
    const pipe = join(folder, 'pipe');
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
    const program = new URL('children/stalled.js', import.meta.url);
    const options = { env: { UV_THREADPOOL_SIZE: '1' } };
    const { signal, stdout, stderr } = await runChild(program, [repository, pipe], options);
    assert.deepEqual([signal, stderr], ['SIGKILL', '']);
    assert.equal(stdout, 'ready\nclosed\n');
  },
);
