/** The packages that `npm ci` installs, on every platform. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Entry {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const text = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8');
const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Entry>> };

test('package-lock.json has the packages of all platforms', () => {
  const absent = Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !packages[`node_modules/${name}`] && !packages[`${place}/node_modules/${name}`])
      .map((name) => `${place}: ${name}`),
  );
  assert.deepEqual(absent, []);
  assert.ok(packages['node_modules/@img/sharp-win32-x64'], 'a platform that nobody here has');
});

test('package-lock.json names no address that packages come from', () => {
  assert.doesNotMatch(text, /"resolved": "(?!https:\/\/registry\.npmjs\.org\/)/);
});
