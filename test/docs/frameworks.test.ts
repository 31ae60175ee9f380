import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { fileOfType, rules } from '../../src/backends/fil/rules.js';
import { linkPackages, root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const page = await readFile(join(root, 'docs', 'frameworks.md'), 'utf8');

test('the tree model of the page runs, and its program prints what it says', async (t) => {
  const folder = await temporaryFolder(t);
  await cp(join(root, 'examples', 'trees', 'models'), join(folder, 'models'), { recursive: true });
  const found = [...page.matchAll(/<!-- (file|program): (\S+) -->\s*```\w*\n([^]*?)```/g)];
  assert.equal(found.length, 2);
  for (const [, kind, name = '', text = ''] of found)
    await writeFile(join(folder, kind === 'file' ? name : `${name}.mjs`), text);
  await linkPackages(folder);
  const { stdout } = await promisify(execFile)(process.execPath, ['digits_trees.mjs'], { cwd: folder });
  assert.equal(stdout.trim(), /console\.log\(.*\); \/\/ (.*)$/m.exec(page)?.[1]);
});

test('the page has every format and every parameter of trees', () => {
  const rows = [...page.matchAll(/^\| (`[^|]+`) +\|([^|]*)\|/gm)].map(([, keys = '', second = '']) => ({
    keys: [...keys.matchAll(/`([^`]+)`/g)].map(([, key = '']) => key),
    second: second.trim(),
  }));
  const listed = new Set(rows.flatMap(({ keys }) => keys));
  for (const key of Object.keys(rules.parameters ?? {})) assert.ok(listed.has(key), key);
  for (const [type, file] of Object.entries(fileOfType))
    assert.ok(
      rows.some(({ keys, second }) => keys.includes(type) && second === `\`${file}\``),
      type,
    );
});
