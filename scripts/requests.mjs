// Makes random requests in every form: node scripts/requests.mjs [--requests 1000000] [--seed NUMBER]
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '1000000' }, seed: { type: 'string' } },
});
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
if (!(Number(values.requests) > 0) || !Number.isSafeInteger(seed)) {
  throw new RangeError('expected a number above 0 for --requests, and a whole one for --seed');
}
const env = { ...process.env, TRITONTS_REQUESTS: values.requests, TRITONTS_REQUESTS_SEED: String(seed) };
const runner = join(dirname(fileURLToPath(import.meta.url)), 'node-tests.mjs');
const result = spawnSync(process.execPath, [runner, 'test/requests/'], { stdio: 'inherit', env });
process.exitCode = result.status ?? 1;
