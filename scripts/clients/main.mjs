// Runs third-party clients against a server, over HTTP and gRPC: npm test -- clients [python] [go] [perf-analyzer]
//
// Each client is installed from its registry into an ignored folder. A client whose tools are missing is skipped, with a
// message.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as go from './go.mjs';
import * as perfAnalyzer from './perf-analyzer.mjs';
import * as python from './python.mjs';
import { writeModels } from './serving.mjs';

const clients = { python, go, 'perf-analyzer': perfAnalyzer };

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !Object.hasOwn(clients, name));
if (unknown !== undefined) {
  console.error(`expected ${Object.keys(clients).join(', ')} but received '${unknown}'`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'tritonts-clients-'));
try {
  const models = await writeModels(folder);
  for (const [name, { missing, check }] of Object.entries(clients)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const why = missing();
    if (why === undefined) await check(folder, models);
    else console.warn(`SKIPPED ${name}: ${why}. Nothing of it was checked.`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
