/** Host policies: which threads and processes they bind, and what is refused. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { JavaScriptModel } from '../../src/index.js';
import { checkHostPolicies } from '../../src/scheduling/host-policy.js';
import { chain, ensemble, identity, onnx, row, serve, thrown } from '../support/harness.js';
import { executing, script } from '../javascript/harness.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';

/** The cores on which this process may run. */
async function ownCores(): Promise<string> {
  return allowed(await readFile('/proc/self/status', 'utf8'));
}

function allowed(status: string): string {
  return /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '';
}

/** The cores of all threads of this process that have a name like this. */
async function coresOf(name: RegExp): Promise<string[]> {
  const threads = await readdir('/proc/self/task');
  const all = await Promise.all(
    threads.map((id) => readFile(`/proc/self/task/${id}/status`, 'utf8').catch(() => '')),
  );
  return all.filter((status) => name.test(/^Name:\s*(.*)$/m.exec(status)?.[1] ?? '')).map(allowed);
}

const linux = process.platform === 'linux';
const cores = linux ? await ownCores() : '';
/** The last core, and what to write for it. */
const last = /(\d+)$/.exec(cores)?.[1] ?? '';
const only = `${last}-${last}`;
const skip = !linux
  ? 'only Linux binds threads'
  : cores === last
    ? 'this process may run on one core only, so a bound thread cannot be told from another one'
    : false;

/** `model` with a host policy. */
function placed(model: RepositoryModel, policy: string): RepositoryModel {
  const config = (model.config ?? '').replace(/instance_group \[ \{/, `$& host_policy: "${policy}"`);
  assert.match(config, /host_policy/);
  return { ...model, config };
}

const hostPolicies = { near: { cpuCores: only } };
const tells = `const { readFileSync } = await import('node:fs');
  const list = /Cpus_allowed_list:\\s*(\\S+)/.exec(readFileSync('/proc/thread-self/status', 'utf8'))[1];
  return requests.map(() => ({ cores: [list] }));`;
const text = { outputs: [{ name: 'cores', datatype: 'BYTES', dims: [1] }] } as const;
const teller = script(executing(tells).replace('execute', 'async execute'), text);

test('the thread of an instance is bound, and no other', { skip }, async (t) => {
  const models = {
    near: placed(identity({ delayMs: 1, instances: 2 }), 'near'),
    far: identity({ delayMs: 1 }),
    both: ensemble(chain(['near', 'far'])),
  };
  const server = await serve(t, models, { hostPolicies });
  const bound = [{ name: 'near', cores: [{ first: Number(last), last: Number(last) }] }];
  assert.deepEqual(
    server
      .model('near')
      .runtimeInfo()
      .instances.map(({ hostPolicy }) => hostPolicy),
    [...bound, ...bound],
  );
  // The thread of `far` is started by one of `near`, which is bound.
  await Promise.all(Array.from({ length: 8 }, () => server.infer('both', { x: [row()] })));
  const threads = await coresOf(/^tritonts-model$/);
  assert.ok(threads.includes(last), String(threads));
  assert.ok(threads.includes(cores), String(threads));
  assert.equal(threads.filter((one) => one !== last && one !== cores).length, 0);
  assert.equal(await ownCores(), cores);
});

test('a bound model does not run on the JavaScript thread', { skip }, async (t) => {
  const server = await serve(t, { near: placed(identity(), 'near') }, { hostPolicies });
  for (let i = 0; i < 20; i++) await server.infer('near', { x: [row()] });
  assert.ok((await coresOf(/^tritonts-model$/)).includes(last));
});

test('a policy without a name in the group is that of the kind', { skip }, async (t) => {
  const server = await serve(t, { m: teller }, { hostPolicies: { cpu: { cpuCores: only }, model: {} } });
  const { outputs } = await server.infer('m', { x: [row()] });
  assert.equal(String(outputs['cores']?.toArray()), last);
});

test(
  'the pool of ONNX Runtime is bound with the model, and has as many threads as cores',
  { skip },
  async (t) => {
    const before = (await coresOf(/./)).length;
    const model = placed(onnx(), 'wide');
    // Two threads: the one that runs and one of the pool.
    const wide = { cpuCores: `${last}-${Number(last) + 1}` };
    const server = await serve(t, { m: model }, { hostPolicies: { wide }, threads: 8 });
    assert.deepEqual((await server.infer('m', { x: [row(1)] })).outputs['y']?.as('FP32').data[0], 2);
    const { sharedPool, intraOpThreads } = server.model('m').runtimeInfo();
    assert.deepEqual({ sharedPool, intraOpThreads }, { sharedPool: false, intraOpThreads: 2 });
    const bound = (await coresOf(/./)).filter((one) => one === last).length;
    assert.ok(bound >= 2, `${bound} of ${before} and more threads are bound`);
  },
);

test('the pools that models share are not bound, whichever model is loaded first', { skip }, async (t) => {
  const program = `
    const { readFileSync, readdirSync } = await import('node:fs');
    const { createServer } = await import(process.argv[1]);
    const list = (status) => /^Cpus_allowed_list:\\s*(\\S+)/m.exec(status)[1];
    const all = list(readFileSync('/proc/self/status', 'utf8'));
    const known = new Set(readdirSync('/proc/self/task'));
    const server = await createServer(process.argv[2], {
      ...{ threads: 4, modelControlMode: 'explicit', loadModels: ['bound'], hostPolicies: { near: { cpuCores: '${only}' } } },
    });
    const x = [Array.from({ length: 16 }, () => 1)];
    await server.infer('bound', { x });
    await server.loadModel('free');
    await server.infer('free', { x });
    await server.unloadModel('bound');
    const left = readdirSync('/proc/self/task').filter((id) => !known.has(id));
    const bound = left.map((id) => list(readFileSync('/proc/self/task/' + id + '/status', 'utf8'))).filter((one) => one !== all);
    console.log(JSON.stringify({ left: left.length > 4, bound }));
    await server.close();`;
  const repository = await writeRepository(await temporaryFolder(t), {
    bound: placed(onnx(), 'near'),
    free: onnx(),
  });
  const index = new URL('../../src/index.js', import.meta.url).href;
  const args = ['--input-type=module', '-e', program, index, repository];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  assert.deepEqual(JSON.parse(stdout), { left: true, bound: [] });
});

test('the thread of a JavaScript model is bound', { skip }, async (t) => {
  const server = await serve(t, { m: placed(teller, 'near'), free: teller }, { hostPolicies });
  const coresSeen = async (name: string): Promise<string> =>
    String((await server.infer(name, { x: [row()] })).outputs['cores']?.toArray());
  assert.equal(await coresSeen('m'), last);
  assert.equal(await coresSeen('free'), cores);
});

test(
  'memory is taken from the node, or the system forbids it and the load says so',
  { skip: !linux && 'only Linux' },
  async (t) => {
    const options = { hostPolicies: { near: { numaNode: 0 } }, exitOnError: false };
    const server = await serve(t, { m: placed(identity({ delayMs: 1 }), 'near') }, options);
    const [version] = server.index();
    if (version?.state === 'READY') {
      const { outputs } = await server.infer('m', { x: [row(3)] });
      assert.equal(outputs['y']?.as('FP32').data[0], 3);
    } else {
      assert.match(
        version?.reason ?? '',
        /host policy 'near': cannot bind a thread to the memory of NUMA node 0/,
      );
      assert.match(version?.reason ?? '', /SYS_NICE/);
    }
  },
);

test('cores that cannot be used fail the load by words', { skip: !linux && 'only Linux' }, async (t) => {
  const wrong: [string, RegExp][] = [
    ['3', /format is '<lower_cpu_core_id>-<upper_cpu_core_id>'. Got 3$/],
    ['0-1,', /Got $/],
    ['1-0', /Got 1-0$/],
    ['0-9999', /Got 0-9999$/],
    ['8000-8001', /cannot bind a thread to the cores 8000-8001: the process may not use them/],
  ];
  const all = { onnx: onnx(), javascript: teller, identity: identity() };
  for (const [cpuCores, message] of wrong) {
    const options = { hostPolicies: { cpu: { cpuCores } }, exitOnError: false };
    const one = await serve(t, all, options);
    for (const { name, state, reason = '' } of one.index()) {
      assert.equal(state, 'UNAVAILABLE', name);
      assert.match(reason, message);
      assert.match(reason, /host policy 'cpu'/);
    }
  }
});

test('a name without settings has no effect but a note, as in Triton', async (t) => {
  const server = await serve(t, { m: placed(identity(), 'nowhere') });
  assert.match(
    server.model('m').notes.join(),
    /instance_group\[0\].host_policy: the server has no settings for 'nowhere'/,
  );
});

test('code of the program is not bound, which a note says', { skip }, async (t) => {
  const tensor = { data_type: 'TYPE_FP32', dims: [1] } as const;
  const config = { input: [{ name: 'x', ...tensor }], output: [{ name: 'y', ...tensor }] };
  const execute: JavaScriptModel['execute'] = (requests) => requests.map(() => ({ y: [1] }));
  const options = { models: { m: { config, execute } }, hostPolicies: { cpu: { cpuCores: only } } };
  const server = await serve(t, {}, options);
  assert.match(server.model('m').notes.join(), /thread of the program/);
});

test('wrong options say what is expected', () => {
  const wrong: [unknown, RegExp][] = [
    [[], /expected an object of policies by name/],
    [{ cpu: 1 }, /options.hostPolicies.cpu/],
    [{ cpu: { cores: '0-1' } }, /unknown key 'cores' in options.hostPolicies.cpu/],
    [{ cpu: { cpuCores: 1 } }, /options.hostPolicies.cpu.cpuCores/],
    [{ cpu: { numaNode: -1 } }, /NUMA node, from 0 to 1023/],
    [{ cpu: { numaNode: '0' } }, /NUMA node/],
    [{ '': {} }, /empty name/],
  ];
  for (const [given, message] of wrong) assert.match(thrown(() => checkHostPolicies(given)).message, message);
});
