/** The check that the workflows in .github/ run nothing that does not exist (scripts/workflows.mjs). */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const { faultsOf } = (await import(new URL('../../../scripts/workflows.mjs', import.meta.url).href)) as {
  faultsOf: (text: string) => string[];
};

const folder = new URL('../../../.github/workflows/', import.meta.url);

/** A workflow whose job `one` runs the commands. */
const running = (...commands: string[]): string =>
  JSON.stringify({
    jobs: { one: { steps: [{ uses: 'actions/checkout@v4' }, { run: commands.join('\n') }] } },
  });

test('what the workflows of this repository run is there', () => {
  const names = readdirSync(folder);
  assert.ok(names.length > 0);
  for (const name of names) assert.deepEqual(faultsOf(readFileSync(new URL(name, folder), 'utf8')), [], name);
});

test('a command that names a script, a check or a file that is gone is seen', () => {
  assert.deepEqual(
    faultsOf(
      running(
        'npm run bild',
        'npm test -- platform',
        'npm ci && npm run --silent pack -- --platform all',
        'node scripts/cross/used.mjs packages linux-x64',
        'bash .ci/runs',
        'sudo yum install ninja',
      ),
    ),
    [
      "one: npm run bild: package.json has no script 'bild'",
      "one: npm test -- platform: npm test knows no 'platform'",
      "one: npm run --silent pack -- --platform all: package.json has no script 'pack'",
      'one: node scripts/cross/used.mjs packages linux-x64: there is no scripts/cross/used.mjs',
      'one: bash .ci/runs: there is no .ci/runs',
      "one: sudo yum install ninja: no program 'yum' is known here",
    ],
  );
});

test('commands with options, paths of tests and programs of the system are sound', () => {
  assert.deepEqual(
    faultsOf(
      running(
        'npm ci',
        'npm test',
        'npm test -- server/',
        'npm test -- package --all',
        'npm run package -- --platform all',
        'node -p process.arch',
        'tar --create --file a.tar build',
      ),
    ),
    [],
  );
});

test('a platform that no package is for is seen', () => {
  const jobs = { users: { strategy: { matrix: { include: [{ target: 'sunos-x64' }] } }, steps: [] } };
  assert.deepEqual(faultsOf(JSON.stringify({ jobs })), ['users: no package is for sunos-x64']);
});
