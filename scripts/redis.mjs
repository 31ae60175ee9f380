// Runs the tests of the response cache in Redis with a real redis-server, Debian's package. If it is missing, it is installed.
// If that is not possible, the tests are skipped with a message.
import { spawnSync } from 'node:child_process';
import { whyMissing } from './debian-package.mjs';

const why = whyMissing('redis-server', ['redis-server']);
if (why !== undefined) console.log(`skipped: redis-server is missing, and ${why}`);
else {
  const tests = ['scripts/node-tests.mjs', 'cache/redis.test', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, tests, { stdio: 'inherit' }).status ?? 1;
}
