// Runs the tests of object stores with real servers on this machine: versitygw and fake-gcs-server, which are built from the Go
// module proxy, and azurite, from npm. They are kept in an ignored folder. Tests whose server cannot be had are skipped.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const place = join(root, 'build', 'stores');

/** How long an installation may take, in milliseconds. The first build of a server takes two minutes on two cores. */
const patienceMs = 480_000;

function install(name, made, program, args, env = {}) {
  if (existsSync(join(place, made))) return;
  console.log(`installing ${name}: ${program} ${args.join(' ')}`);
  const since = performance.now();
  const { status, error } = spawnSync(program, args, {
    ...{ cwd: place, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8', timeout: patienceMs },
    env: { ...process.env, ...env },
  });
  const seconds = Math.round((performance.now() - since) / 1000);
  if (status === 0) console.log(`installed ${name} in ${seconds} s`);
  else console.log(`skipped: ${name} cannot be installed (${error?.message ?? `it ended with ${status}`})`);
}

mkdirSync(place, { recursive: true });
// Without it npm would install into the package around it.
writeFileSync(join(place, 'package.json'), '{ "private": true }\n');
// Only modules are downloaded: no other Go toolchain, and no C compiler is used.
const go = { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOBIN: join(place, 'bin'), GOFLAGS: '-mod=mod' };
const gateway = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0';
install('versitygw', 'bin/versitygw', 'go', ['install', gateway], go);
const google = 'github.com/fsouza/fake-gcs-server@v1.56.1';
install('fake-gcs-server', 'bin/fake-gcs-server', 'go', ['install', google], go);
const azurite = ['install', '--no-audit', '--no-fund', '--no-package-lock', 'azurite@3.35.0'];
install('azurite', 'node_modules/azurite', 'npm', azurite);

const tests = ['scripts/node-tests.mjs', 'test/stores/', 'registry/stores/', ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, tests, { cwd: root, stdio: 'inherit' }).status ?? 1;
