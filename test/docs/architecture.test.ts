/** The page of architecture: its pictures, and the folders that it names. The names in it are checked by scripts/references. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');

/** The text below a heading, up to the next one of its level. */
function section(heading: string): string {
  const begin = page.indexOf(`\n${heading}\n`);
  assert.ok(begin >= 0, `no heading ${heading}`);
  const level = heading.replace(/[^#].*$/, '');
  const end = page.indexOf(`\n${level} `, begin + heading.length);
  return page.slice(begin, end < 0 ? undefined : end);
}

/** The pictures in a text. */
function pictures(text: string): string[] {
  return [...text.matchAll(/^```text\n([^]*?)^```$/gm)].map(([, picture = '']) => picture);
}

/** The folders that the tree of the page names. */
function namedFolders(): string[] {
  const [tree = ''] = pictures(section('## Folders'));
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, spaces = '', names] = /^( *)((?:[\w-]+\/(?:\s+|:? |$))+)/.exec(line) ?? [];
    if (names === undefined) return [];
    const level = spaces.length / 2;
    return names
      .trim()
      .split(/[:\s]+/)
      .map((name) => {
        const path = `${level === 0 ? '' : (parents[level - 1] ?? '')}${name}`;
        parents[level] = path;
        return path.slice(0, -1);
      });
  });
}

/** The folders in a folder. */
function foldersIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('build'))
    .map(({ name }) => `${folder}/${name}`);
}

test('the layers, the way of a request and the states have one picture each', () => {
  for (const heading of ['## Layers', '## The way of a request', '## States'])
    assert.equal(pictures(section(heading)).length, 1, heading);
});

test('the folders that the page names exist, where it says', () => {
  const named = namedFolders();
  assert.ok(named.length > 40, `only ${named.length} folders`);
  assert.deepEqual(
    named.filter((folder) => statSync(join(root, folder), { throwIfNoEntry: false })?.isDirectory() !== true),
    [],
  );
});

test('no folder of src, native and the engine is missing in it', () => {
  const named = namedFolders();
  assert.deepEqual(
    ['src', 'native', 'native/engine'].flatMap(foldersIn).filter((folder) => !named.includes(folder)),
    [],
  );
});
