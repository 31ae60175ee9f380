// Runs the tests of the response cache in Redis with a real redis-server, Debian's package. If it is missing, apt-get installs
// it, as root. If that is not possible, or takes longer than some minutes, the tests are skipped with a message.
import { spawnSync } from 'node:child_process';

const isThere = () => spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0;

/** How long apt-get may take at each step, in milliseconds. */
const patienceMs = 180_000;

/** Why Redis is missing after an attempt to install it; undefined: it is there. */
function missing() {
  if (isThere()) return undefined;
  if (spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status !== 0) return 'there is no apt-get';
  if (process.getuid?.() !== 0) return 'only root may install it';
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  for (const args of [
    ['update', '-qq'],
    ['install', '-qq', '-y', '--no-install-recommends', 'redis-server'],
  ]) {
    const { status, error } = spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env,
      timeout: patienceMs,
    });
    if (status !== 0)
      return `apt-get ${args[0]} ${error ? `took longer than ${patienceMs / 1000} s` : `ended with ${status}`}`;
  }
  return isThere() ? undefined : 'the package brings no redis-server';
}

const why = missing();
if (why !== undefined) console.log(`skipped: redis-server is missing, and ${why}`);
else {
  const tests = ['scripts/node-tests.mjs', 'cache/redis.test', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, tests, { stdio: 'inherit' }).status ?? 1;
}
