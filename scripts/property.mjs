// Runs the property tests for a while: random schedules through a server, and for as long others through the engine.
//
//   node scripts/property.mjs [--seconds 60] [--seed NUMBER]
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
});
if (
  !(Number(values.seconds) > 0) ||
  (values.seed !== undefined && !Number.isSafeInteger(Number(values.seed)))
) {
  throw new RangeError('expected a number above 0 for --seconds, and a whole one for --seed');
}
const env = { ...process.env, TRITONTS_PROPERTY_SECONDS: values.seconds };
if (values.seed !== undefined) env.TRITONTS_PROPERTY_SEED = values.seed;
const scripts = dirname(fileURLToPath(import.meta.url));
const seed = values.seed === undefined ? [] : ['--seed', values.seed];
for (const [script, ...args] of [
  ['test.mjs', join('test', 'property')],
  ['native-tests.mjs', '--property', '--seconds', values.seconds, ...seed],
]) {
  const result = spawnSync(process.execPath, [join(scripts, script), ...args], { stdio: 'inherit', env });
  process.exitCode ||= result.status ?? 1;
}
