/** The page of traces: its programs print what it says. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/repository.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = await readFile(join(root, 'docs', 'tracing.md'), 'utf8');

for (const name of ['file', 'spans']) {
  test(`the program '${name}' of the page prints what it says`, async (t) => {
    const [, code = ''] = new RegExp(`<!-- test: ${name} -->\\s*\`\`\`js\\n([^]*?)\`\`\``).exec(page) ?? [];
    const promised = [...code.matchAll(/console\.log\([^]*?\); \/\/ prints (.*)$/gm)].map(
      ([, text = '']) => text,
    );
    assert.equal(promised.length, 2);
    const folder = await temporaryFolder(t);
    const modules = join(folder, 'node_modules');
    await mkdir(modules);
    await symlink(root, join(modules, 'tritonts'), 'dir');
    await symlink(join(root, 'node_modules', '@opentelemetry'), join(modules, '@opentelemetry'), 'dir');
    const file = join(folder, 'program.mjs');
    await writeFile(file, code);
    const options = { cwd: folder, timeout: 60_000 };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], options);
    assert.deepEqual([stdout, stderr], [`${promised.join('\n')}\n`, '']);
  });
}
