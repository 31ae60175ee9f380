/** Links of the documents, and the address of the project. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(root, file)));
const pages = tracked.filter((file) => file.endsWith('.md'));

/** Text without code, in which brackets are no links. */
function prose(text: string): string {
  return text
    .replace(/^(`{3,}|~{3,})[^]*?^\1\s*$/gm, '')
    .replace(/`[^`\n]*`/g, (code) => 'x'.repeat(code.length));
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchors(file: string): Set<string> {
  const text = readFileSync(join(root, file), 'utf8').replace(/^(`{3,})[^]*?^\1\s*$/gm, '');
  const found = new Set<string>();
  for (const [, heading = ''] of text.matchAll(/^#{1,6} +(.+?)\s*#*$/gm)) {
    const base = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    let anchor = base;
    for (let n = 1; found.has(anchor); n++) anchor = `${base}-${n}`;
    found.add(anchor);
  }
  return found;
}

/** The relative links of a page that lead nowhere. */
function deadLinks(page: string, text: string): string[] {
  const dead: string[] = [];
  for (const [, link = ''] of prose(text).matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)) {
    if (/^[a-z]+:/.test(link)) continue;
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? page : relative(root, join(root, dirname(page), decodeURI(path)));
    if (file.startsWith('..') || !existsSync(join(root, file))) dead.push(`${page}: ${link}: no such file`);
    else if (anchor !== undefined && !anchors(file).has(anchor))
      dead.push(`${page}: ${link}: no such heading`);
  }
  return dead;
}

for (const page of pages) {
  test(`every relative link of ${page} leads somewhere`, () => {
    assert.deepEqual(deadLinks(page, readFileSync(join(root, page), 'utf8')), []);
  });
}

test('dead links, and dead anchors, are seen', () => {
  const text = '[a](nothing.md) [b](README.md#nothing) [c](README.md#five-minutes) `[d](code.md)`';
  assert.deepEqual(deadLinks('README.md', text), [
    'README.md: nothing.md: no such file',
    'README.md: README.md#nothing: no such heading',
  ]);
});

test("the owner's address stands in one place, the field `repository` of package.json", () => {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    repository: { url: string };
  };
  const address = repository.url.replace(/^git\+https:\/\//, '').replace(/\.git$/, '');
  const places = tracked
    .filter((file) => !/\.(onnx|png|bin|pb)$/.test(file))
    .flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split(address)
        .slice(1)
        .map(() => file),
    );
  assert.deepEqual(places, ['package.json']);
});

test('the licence that package.json names is the one in LICENSE', () => {
  const { license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { license: string };
  const text = readFileSync(join(root, 'LICENSE'), 'utf8');
  assert.equal(license, 'Apache-2.0');
  assert.match(text, /^\s*Apache License\s+Version 2\.0, January 2004/);
  assert.match(text, /Copyright 2026 The tritonts authors/);
});
