// Makes random ensembles: node scripts/ensembles.mjs [--seconds 60] [--seed NUMBER]
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
});
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
if (!(Number(values.seconds) > 0) || !Number.isSafeInteger(seed)) {
  throw new RangeError('expected a number above 0 for --seconds, and a whole one for --seed');
}
const env = {
  ...process.env,
  TRITONTS_ENSEMBLES_SECONDS: values.seconds,
  TRITONTS_ENSEMBLES_SEED: String(seed),
};
const runner = join(dirname(fileURLToPath(import.meta.url)), 'node-tests.mjs');
const result = spawnSync(process.execPath, [runner, 'ensemble/random'], { stdio: 'inherit', env });
process.exitCode = result.status ?? 1;
