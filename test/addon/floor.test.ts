/** The oldest system that the addon runs on. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { elfHeaders } from '../../src/addon/elf.js';
import { neededVersions } from '../support/elf-versions.js';

const chosen = process.env['TRITONTS_ADDON'] ?? '';
const file = fileURLToPath(new URL('../../../build/Release/tritonts.node', import.meta.url));
const skip =
  process.platform !== 'linux'
    ? 'only Linux has versions of symbols'
    : chosen.includes('addon-')
      ? 'a sanitizer is of this system'
      : false;
const cache =
  skip === false ? readFileSync(new URL('../../../build/CMakeCache.txt', import.meta.url), 'utf8') : '';
const staticLibrary =
  skip === false && !/^TRITONTS_HAS_STATIC_LIBSTDCXX:INTERNAL=1$/m.test(cache)
    ? 'there is no static libstdc++ on this system'
    : skip;

for (const one of [file, file.replace('tritonts.node', 'tritonts_python.so')]) {
  test(
    `${basename(one)} asks for no symbol of a glibc after 2.28, and no libstdc++`,
    { skip: staticLibrary },
    () => {
      oldEnough(one);
    },
  );
}

function oldEnough(one: string): void {
  const versions = neededVersions(readFileSync(one));
  const glibc = versions.filter((version) => version.startsWith('GLIBC_'));
  assert.ok(glibc.length > 0, versions.join(' '));
  const newer = glibc.filter((version) => Number(version.split('.')[1]) > 28);
  assert.deepEqual(newer, []);
  assert.deepEqual(
    versions.filter((version) => /^(GLIBCXX|CXXABI)_/.test(version)),
    [],
  );
}

test('the versions that are read are those of readelf', { skip }, (t) => {
  let text: string;
  try {
    text = execFileSync('readelf', ['--version-info', '--wide', file], { encoding: 'utf8' });
  } catch {
    t.skip('there is no readelf here');
    return;
  }
  const needs = text.slice(text.indexOf('Version needs section'));
  const expected = [...needs.matchAll(/Name: ((?:GLIBC|GLIBCXX|CXXABI|GCC)_\S+)/g)].map(([, name]) => name);
  assert.deepEqual(neededVersions(readFileSync(file)).sort(), expected.sort());
});

test('ELF headers tell how long a file is, and by what a program is loaded', { skip }, () => {
  const headers = elfHeaders(file);
  assert.equal(headers?.bytes, readFileSync(file).length);
  assert.equal(headers.interpreter, undefined);
  assert.match(elfHeaders(process.execPath)?.interpreter ?? '', /ld-(linux|musl)/);
  assert.equal(
    elfHeaders(createRequire(import.meta.url).resolve('onnxruntime-node/package.json')),
    undefined,
  );
});
