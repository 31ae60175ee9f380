/** The processes of Python models and host policies. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { row } from '../support/harness.js';
import { script, serving, skip } from './harness.js';

/** The cores on which this process may run, such as '0-3,8'. */
async function ownCores(): Promise<string> {
  const status = await readFile('/proc/self/status', 'utf8');
  return /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '';
}

test('the process of a Python model is bound, also when it is restarted', { skip }, async (t) => {
  const cores = await ownCores();
  const last = /(\d+)$/.exec(cores)?.[1] ?? '';
  const body = `def execute(self, requests):
    import numpy as np
    if array(requests[0])[0][0] == 1:
        os._exit(3)
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    return [answer(np.array([[cores.encode()]], dtype=object), "cores") for _ in requests]`;
  const model = script(body, { outputs: [{ name: 'cores', datatype: 'BYTES', dims: [1] }] });
  const server = await serving(t, { m: model }, { hostPolicies: { cpu: { cpuCores: `${last}-${last}` } } });
  const seen = async (): Promise<string> =>
    String((await server.infer('m', { x: [row(0)] })).outputs['cores']?.toArray());
  assert.equal(await seen(), last);
  await assert.rejects(server.infer('m', { x: [row(1)] }));
  assert.equal(await seen(), last);
  assert.equal(await ownCores(), cores);
});
