/** The programs of docs/test-servers.md, and the example for Node's test runner, run as they are written. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { promisify } from 'node:util';
import { layOut, linkPackages, root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const run = promisify(execFile);
const page = await readFile(join(root, 'docs', 'test-servers.md'), 'utf8');
const programs = [...page.matchAll(/<!-- test: (\w+) -->\s*```js\n([^]*?)```/g)];

const folder = await temporaryFolder({ after });
await linkPackages(folder);
const models = join(root, 'examples', 'digits', 'models', 'digits', 'config.pbtxt');
await mkdir(join(folder, 'models', 'digits'), { recursive: true });
await cp(models, join(folder, 'models', 'digits', 'config.pbtxt'));

/** Runs test files with Node's test runner, without an addon. Returns how many tests passed. */
async function passed(cwd: string, ...files: readonly string[]): Promise<number> {
  const env: NodeJS.ProcessEnv = { ...process.env, TRITONTS_ADDON: '/there/is/none' };
  // Set by the runner that runs this file; another one in it would report to it.
  delete env['NODE_TEST_CONTEXT'];
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', ...files], { cwd, env });
  return Number(/^# pass (\d+)$/m.exec(stdout)?.[1]);
}

test('the page has programs', () => {
  assert.deepEqual(
    programs.map(([, name]) => name),
    ['first', 'models', 'failures', 'url'],
  );
});

for (const [, name = '', code = ''] of programs) {
  test(`the page's program '${name}' passes its tests`, async () => {
    const file = join(folder, `${name}.test.mjs`);
    await writeFile(file, code);
    const tests = [...code.matchAll(/^test\(/gm)].length;
    assert.equal(await passed(folder, file), tests);
  });
}

test("the example for Node's test runner passes its tests", async () => {
  const example = await temporaryFolder({ after });
  await layOut('testing-node', join(example, 'testing-node'));
  await cp(
    join(root, 'examples', 'digits', 'models', 'digits'),
    join(example, 'digits', 'models', 'digits'),
    {
      recursive: true,
    },
  );
  assert.equal(await passed(join(example, 'testing-node')), 4);
});
