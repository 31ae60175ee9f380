// Runs the property tests for a while: random schedules through a server, then for as long others through the
// engine.
//
//   node scripts/property.mjs [--seconds 60] [--seed NUMBER]
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
});
const seed = values.seed ?? String(Date.now() % 2 ** 31);
if (!(Number(values.seconds) > 0) || !Number.isSafeInteger(Number(seed))) {
  throw new RangeError('expected a number above 0 for --seconds, and a whole one for --seed');
}
const env = { ...process.env, TRITONTS_PROPERTY_SECONDS: values.seconds, TRITONTS_PROPERTY_SEED: seed };
const scripts = dirname(fileURLToPath(import.meta.url));
for (const [script, ...args] of [
  ['node-tests.mjs', 'test/property/'],
  ['native-tests.mjs', '--property', '--seconds', values.seconds, '--seed', seed],
]) {
  const result = spawnSync(process.execPath, [join(scripts, script), ...args], { stdio: 'inherit', env });
  process.exitCode ||= result.status ?? 1;
}
