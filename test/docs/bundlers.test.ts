/** The modules for Next in docs/bundlers.md, run unchanged: a route is a function of a request. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { linkPackages, root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const run = promisify(execFile);

test("the page's route for Next loads lazily, and what the client did wrong is 400", async (t) => {
  const folder = await temporaryFolder(t);
  const page = await readFile(join(root, 'docs', 'bundlers.md'), 'utf8');
  const modules = [...page.matchAll(/```js\n\/\/ (app\/\S+)\n([^]*?)```/g)];
  assert.deepEqual(
    modules.map(([, file]) => file),
    ['app/digits/server.js', 'app/digits/route.js'],
  );
  for (const [, file = '', code = ''] of modules) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), code);
  }
  await linkPackages(folder, 'onnxruntime-node');
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const bodies = [
    JSON.stringify({ image: Array.from({ length: 64 }, () => 0) }),
    '{ "image": [',
    'null',
    '{}',
    '{ "image": [1, 2] }',
    '{ "image": "x" }',
  ];
  await writeFile(
    join(folder, 'main.js'),
    `import { POST } from './app/digits/route.js';
     const ask = async (body) => {
       const answer = await POST(new Request('http://localhost', { method: 'POST', body }));
       return [answer.status, Object.keys(await answer.json())];
     };
     const seen = { lazy: globalThis.tritonts === undefined, failed: await ask('{}').catch(({ code }) => code), answers: [] };
     const { cp } = await import('node:fs/promises');
     await cp(process.argv[2], 'models', { recursive: true });
     for (const body of ${JSON.stringify(bodies)}) seen.answers.push(await ask(body));
     await (await globalThis.tritonts).close();
     console.log(JSON.stringify(seen));`,
  );
  await cp(join(root, 'examples', 'digits', 'models', 'digits'), join(folder, 'kept', 'digits'), {
    recursive: true,
  });
  const { stdout } = await run(process.execPath, ['main.js', 'kept'], { cwd: folder });
  assert.deepEqual(JSON.parse(stdout), {
    lazy: true,
    // The folder does not exist yet. That is not the client's fault, and the next request tries again.
    failed: 'NOT_FOUND',
    answers: [[200, ['scores']], ...bodies.slice(1).map(() => [400, ['error']])],
  });
});
