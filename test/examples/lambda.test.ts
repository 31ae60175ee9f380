/** The handler and the files of examples/lambda. `npm test -- serverless` runs them in roots as Lambda's and a distroless image's. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { modelRepository, readHeldOutDigits } from '../../examples/digits/data.js';
import { compile, layOut, root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const folder = await temporaryFolder({ after });
await layOut('lambda', folder, 'onnxruntime-node', '@types');
await cp(join(fileURLToPath(modelRepository), 'digits'), join(folder, 'models', 'digits'), {
  recursive: true,
});

/** An answer of the handler. */
interface Answer {
  readonly statusCode: number;
  readonly body: string;
}

/** The answers to events, from a process that loads the handler as Lambda does. */
async function answersTo(events: readonly object[]): Promise<Answer[]> {
  const program = `const { handler } = await import('./index.mjs');
    const answers = [];
    for (const event of ${JSON.stringify(events)}) answers.push(await handler(event));
    console.log(JSON.stringify(answers));
    process.exit(0);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: folder,
  });
  return JSON.parse(stdout) as Answer[];
}

test('the handler answers events, and says what is wrong with one', async () => {
  const digits = readHeldOutDigits().slice(0, 20);
  const bodies = digits.map(({ pixels }) => JSON.stringify({ image: [...pixels] }));
  const right = bodies.map((body, i) =>
    i % 2 === 0 ? { body } : { body: Buffer.from(body).toString('base64'), isBase64Encoded: true },
  );
  const wrong = [{}, { body: 'no JSON' }, { body: '{ "image": [1, 2] }' }, { body: '{ "image": 1 }' }];
  const answers = await answersTo([...right, ...wrong]);
  const found = answers.slice(0, right.length).map(({ statusCode, body }) => {
    assert.equal(statusCode, 200);
    const { digit, scores } = JSON.parse(body) as { digit: number; scores: number[] };
    assert.equal(scores.indexOf(Math.max(...scores)), digit);
    return digit;
  });
  const labels = digits.map(({ label }) => label);
  assert.ok(found.filter((digit, i) => digit === labels[i]).length >= 19, found.join());
  for (const { statusCode, body } of answers.slice(right.length)) {
    assert.equal(statusCode, 400);
    assert.match(body, /"code":"INVALID_ARG"/);
  }
  assert.match(answers[right.length + 2]?.body ?? '', /model 'digits', input 'image'/);
});

test('the example is typed', async () => {
  const options =
    '--noEmit --strict false --skipLibCheck --allowJs --checkJs --target es2022 --module nodenext --lib es2023,esnext.disposable,dom --types node';
  assert.equal(await compile(folder, ...options.split(' '), 'index.mjs'), '');
});

test('the image runs a file of the package, without a shell and without root', async () => {
  const dockerfile = await readFile(join(folder, 'Dockerfile'), 'utf8');
  const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM ')).split('\n');
  const [command = '[]'] = last.filter((line) => line.startsWith('CMD ')).map((line) => line.slice(4));
  const [main = ''] = JSON.parse(command) as string[];
  assert.ok(existsSync(join(root, main.replace('node_modules/tritonts/', ''))), main);
  assert.ok(last.includes('USER 65532:65532'));
  assert.deepEqual(
    last.filter((line) => line.startsWith('RUN')),
    [],
  );
});
