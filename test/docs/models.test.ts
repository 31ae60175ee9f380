// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { promisify } from 'node:util';
import { createServer } from '../../src/index.js';
import { gpuCount } from '../support/gpus.js';
import { dataTypeOf } from '../../src/config/rules/description.js';
import { datatypeOfNumber, type Datatype } from '../../src/tensor/datatype.js';
import { elementTypes } from '../../src/tensor/elements.js';
import { tensorFactory } from '../../src/tensor/output.js';
import { rejection, start } from '../support/harness.js';
import { linkPackages, root } from '../support/project.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { exampleFiles } from './example-models.js';
import { situations } from './situations.js';

const run = promisify(execFile);
const page = await readFile(join(root, 'docs', 'models.md'), 'utf8');

/** Code blocks after a comment `<!-- kind: name -->`, by name. */
function blocks(kind: string): Map<string, string> {
  const pattern = new RegExp(`<!-- ${kind}: (\\S+) -->\\s*\`\`\`\\w+\\n([^]*?)\`\`\``, 'g');
  return new Map([...page.matchAll(pattern)].map(([, name = '', text = '']) => [name, text]));
}

/** The repository that the page describes. Its examples find the package there. */
const folder = await temporaryFolder({ after });
const repository = await writeRepository(
  join(folder, 'models'),
  Object.fromEntries(Object.entries(exampleFiles).map(([name, files]) => [name, { files }])),
);
for (const [path, text] of blocks('file')) await writeFile(join(folder, path), text);
await linkPackages(folder, 'onnxruntime-node');

test('the page shows a configuration of each model but the first', () => {
  const shown = [...blocks('file').keys()].sort();
  const expected = Object.keys(exampleFiles).filter((name) => name !== 'fahrenheit');
  assert.deepEqual(shown, expected.map((name) => `models/${name}/config.pbtxt`).sort());
});

test('the models of the page load', async () => {
  const server = await createServer(repository);
  await server.close();
});

for (const [name, code] of blocks('test')) {
  test(`the page's example '${name}' prints what it says`, async () => {
    const file = join(folder, `${name}.mjs`);
    await writeFile(file, code);
    const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder });
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    assert.equal(stderr, '');
    assert.ok(promised.length > 0);
    assert.deepEqual(stdout.trimEnd().split('\n'), promised);
  });
}

const messages = blocks('message');
const canUseGpus = (await gpuCount()) > 0;

test('each message that the page explains can be produced, and the other way round', () => {
  assert.deepEqual([...messages.keys()].sort(), Object.keys(situations).sort());
});

for (const [name, { mood, request, link }] of Object.entries(situations)) {
  const options = { skip: name === 'gpu' && canUseGpus && 'ONNX Runtime can use a GPU here' };
  test(`the message '${name}' reads as on the page`, options, async (t) => {
    const models = await writeRepository(await temporaryFolder(t), { mood });
    if (link) await symlink(link[1], join(models, 'mood', link[0]));
    const server = await start(t, models, { modelControlMode: 'explicit' });
    if (request) await server.loadModel('mood');
    const attempt = async (): Promise<unknown> => (request ? request(server) : server.loadModel('mood'));
    const { code, message } = await rejection(attempt());
    // The backend of the tests, which users do not have, is recognised by a file of its own.
    const shown = `${code}: ${message}`.replaceAll(`${models}/`, 'models/').replace(', model.probe', '');
    // On the page, a line that begins with blanks continues the one before, and … stands for what differs
    // between machines.
    const expected = messages.get(name)?.trimEnd().replaceAll(/\n +/g, ' ') ?? '';
    const pattern = expected.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    assert.match(shown, new RegExp(`^${pattern.join('[^\\n]*')}$`));
  });
}

/** Cells of the page's table of datatypes. */
function datatypeRows(): string[][] {
  return [...page.matchAll(/^\| `TYPE_.*$/gm)].map(([line]) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test('the table of datatypes says what the library does', () => {
  const known = datatypeOfNumber.filter((datatype): datatype is Datatype => datatype !== undefined);
  assert.deepEqual(
    datatypeRows(),
    known.map((datatype) => [
      `\`${dataTypeOf(datatype)}\``,
      datatype,
      datatype === 'BYTES'
        ? 'Buffer[]'
        : tensorFactory(datatype)([0], new ArrayBuffer(0)).data.constructor.name,
      datatype === 'BYTES' ? 'strings (as UTF-8) or Uint8Arrays' : elementTypes[datatype].takes,
    ]),
  );
});
