/** The README's lines with curl, against `tritonts serve`. Its Python program is run by `npm test -- clients`. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { anyPorts, run as runServe } from '../cli/serve/harness.js';
import { root } from '../support/project.js';

const run = promisify(execFile);
const readme = await readFile(join(root, 'README.md'), 'utf8');

test("the README's lines with curl see the digit", async (t) => {
  const found = await run('curl', ['--version']).then(
    () => true,
    () => false,
  );
  if (!found) {
    t.skip('there is no curl');
    return;
  }
  const [, lines = ''] = /<!-- test: curl -->\s*```sh\n([^]*?)```/.exec(readme) ?? [];
  const served = runServe(t, `--model-repository=${join(root, 'examples', 'digits', 'models')}`, ...anyPorts);
  const { address } = await served.place('HTTPService');
  const { stdout } = await run('sh', ['-c', lines.replace('localhost:8000', `127.0.0.1:${address.port}`)]);
  const { outputs } = JSON.parse(stdout) as { outputs: { data: string[] }[] };
  assert.match(outputs[0]?.data[0] ?? '', /^0\.\d+:7/);
});
