import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { exampleFiles } from './example-models.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = await readFile(join(root, 'docs', 'diagnostics.md'), 'utf8');

/** Code blocks after a comment `<!-- kind: name -->`, by name. */
function blocks(kind: string): Map<string, string> {
  const pattern = new RegExp(`<!-- ${kind}: (\\S+) -->\\s*\`\`\`\\w+\\n([^]*?)\`\`\``, 'g');
  return new Map([...page.matchAll(pattern)].map(([, name = '', text = '']) => [name, text]));
}

const folder = await temporaryFolder({ after });
await writeRepository(join(folder, 'models'), { fahrenheit: { files: exampleFiles['fahrenheit'] ?? {} } });
await mkdir(join(folder, 'node_modules'));
for (const [name, target] of [
  ['tritonts', root],
  ['onnxruntime-node', dirname(fileURLToPath(import.meta.resolve('onnxruntime-node/package.json')))],
] as const) {
  await symlink(target, join(folder, 'node_modules', name), 'dir');
}

test('each example of the page has its output', () => {
  // The last one prints nothing.
  assert.deepEqual([...blocks('test').keys()], ['logger', 'channels', 'observers']);
  assert.deepEqual([...blocks('output').keys()], ['logger', 'channels']);
});

for (const [name, code] of blocks('test')) {
  test(`the page's example '${name}' prints what the page says`, async () => {
    const file = join(folder, `${name}.mjs`);
    await writeFile(file, code);
    const run = promisify(execFile);
    const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, timeout: 120_000 });
    assert.equal(stderr, '');
    // A line … stands for any number of lines, and a time for any time.
    const expected = (blocks('output').get(name) ?? '')
      .replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
      .replaceAll(/ in \d+\\\.\d+ s$/gm, String.raw` in \d+\.\d+ s`);
    assert.match(stdout, new RegExp(`^${expected.replaceAll('…\n', '(?:.*\\n)*')}$`));
  });
}
