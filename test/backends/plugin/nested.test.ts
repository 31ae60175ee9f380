/** Batches of plug-ins on threads of others: what is left of their stacks, and requests that a batch submits. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { nativeApi, type InferenceServer } from '../../../src/index.js';
import { noCompiler, sharedObject } from '../../support/c-compiler.js';
import { runChild } from '../../support/child.js';
import { anyLength, chain, ensemble, identity, until, type Context } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { pluginFolder, pluginModel, serving, skip } from './own-plugins.js';

/** The functions of `nester.c`. */
interface Nester {
  attach(table: unknown, engine: number, id: number, plugin: string): void;
  open(slot: number, model: string): void;
  nest(slot: number): void;
  run(slot: number, count: number, stackBytes: number): void;
  look(): string;
  detach(): void;
}

const skipNested = skip === false ? noCompiler : skip;
const hooked = pluginModel('hooked', { ...anyLength, maxBatchSize: 8 });
/** 5 of the 8 MiB that an instance's thread has. */
const deep = pluginModel('hooked', { ...anyLength, maxBatchSize: 8, parameters: { stack_kib: 5 * 1024 } });
const mib = 1 << 20;

/** The slots of requests; the last one is none. */
const outer = 0;
const inner = 1;
const none = 8;

async function attached(t: Context, server: InferenceServer): Promise<Nester> {
  const file = join(await temporaryFolder(t), 'nester.node');
  const require = createRequire(import.meta.url);
  const { include_dir: node } = require('node-api-headers') as { include_dir: string };
  const source = join(root, 'test', 'backends', 'plugin', 'nester.c');
  sharedObject(file, [source, '-DNAPI_VERSION=9', `-I${node}`, `-I${nativeApi.include}`]);
  const nester = require(file) as Nester;
  const { engine, id } = server.handle;
  nester.attach(nativeApi.external, engine, id, join(pluginFolder, 'hooked', 'libtriton_hooked.so'));
  return nester;
}

/** Has batches of these models known to be short. */
async function prove(server: InferenceServer, ...models: readonly string[]): Promise<void> {
  for (const model of models) {
    for (let i = 0; i < 200; i++) await server.infer(model, { x: [[1.5]] });
  }
}

async function outcome(nester: Nester): Promise<string> {
  await until(() => nester.look() !== '');
  return nester.look();
}

/** How many of the last `count` batches ran on the thread that asked. */
function inlineOf(server: InferenceServer, model: string, count: number): number {
  return server
    .explain(model)
    .batches.slice(-count)
    .filter(({ inline }) => inline).length;
}

/** Whether the main thread's stack may grow to 8 MiB. */
function hasUsualStack(): boolean {
  const soft = /^Max stack size\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return soft === 'unlimited' || Number(soft) >= 8 * mib;
}

test('a plug-in runs inline only where the stack is nearly as large as its own', { skip }, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { deep });
  const program = new URL('children/deep.js', import.meta.url);
  const worker = await runChild(program, [repository, pluginFolder, 'worker']);
  assert.deepEqual([worker.code, worker.signal, worker.stdout], [0, null, '0\n'], worker.stderr);
  const main = await runChild(program, [repository, pluginFolder, 'main']);
  assert.deepEqual([main.code, main.signal], [0, null], main.stderr);
  assert.equal(Number(main.stdout) > 0, hasUsualStack(), main.stdout);
});

test(
  'batches run within submit only if the thread has the stack for them',
  { skip: skipNested },
  async (t) => {
    const server = await serving(
      t,
      { deep, echo: identity({ ...anyLength, maxBatchSize: 8 }) },
      { inline: 10_000 },
    );
    const nester = await attached(t, server);
    nester.open(outer, 'deep');
    nester.open(inner, 'echo');
    const within = async (slot: number, model: string, stackBytes: number): Promise<number> => {
      nester.run(slot, 200, stackBytes);
      assert.equal(await outcome(nester), '200 answered, 0 failed, 0 stuck');
      return inlineOf(server, model, 50);
    };
    await prove(server, 'echo');
    assert.equal(await within(outer, 'deep', mib / 4), 0);
    assert.equal(await within(outer, 'deep', 4 * mib), 0);
    assert.ok((await within(outer, 'deep', 8 * mib)) > 0);
    assert.equal(await within(inner, 'echo', mib / 4), 0);
    assert.ok((await within(inner, 'echo', mib)) > 0);
    nester.detach();
  },
);

const echo = identity({ ...anyLength, maxBatchSize: 8 });
const cached = identity({ ...anyLength, maxBatchSize: 8, more: 'response_cache { enable: true }' });
const io = { ...anyLength, maxBatchSize: 8 };
const models = {
  hooked,
  echo,
  cached,
  outer: ensemble(chain(['hooked']), io),
  inner: ensemble(chain(['echo']), io),
};

for (const [asked, within, what] of [
  ['hooked', 'echo', 'a model'],
  ['hooked', 'cached', 'a cached response'],
  ['outer', 'inner', 'an ensemble'],
] as const) {
  test(`a batch that runs within submit may wait for ${what}`, { skip: skipNested }, async (t) => {
    const server = await serving(t, models, { inline: 10_000, cacheConfig: { local: { size: 1 << 20 } } });
    const nester = await attached(t, server);
    nester.open(outer, asked);
    nester.open(inner, within);
    await prove(server, asked, within);
    nester.nest(inner);
    nester.run(outer, 3, 8 * mib);
    assert.equal(await outcome(nester), '6 answered, 0 failed, 0 stuck');
    assert.ok(inlineOf(server, 'hooked', 3) > 0, 'a batch ran within submit');
    if (within !== 'cached')
      assert.equal(inlineOf(server, 'echo', 3), 0, 'the thread of a batch runs no other one');
    nester.detach();
  });
}

test(
  'a batch on the thread of JavaScript may wait for a model, on whose thread that runs',
  { skip: skipNested },
  async (t) => {
    const server = await serving(t, models, { inline: 10_000, cacheConfig: { local: { size: 1 << 20 } } });
    const nester = await attached(t, server);
    nester.open(inner, 'echo');
    await prove(server, 'hooked', 'echo');
    nester.nest(inner);
    for (let i = 0; i < 3; i++) await server.infer('hooked', { x: [[1.5]] });
    nester.nest(none);
    assert.ok(inlineOf(server, 'hooked', 3) > 0);
    assert.equal(inlineOf(server, 'echo', 3), 0);
    nester.detach();
  },
);

test(
  'a batch on a thread with a host policy runs no batch of another model',
  { skip: skipNested },
  async (t) => {
    const core = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
    const server = await serving(
      t,
      {
        echo,
        hooked: {
          ...hooked,
          config: hooked.config?.replace(/instance_group \[ \{/, '$& host_policy: "bound"') ?? '',
        },
      },
      { inline: 10_000, hostPolicies: { bound: { cpuCores: `${core}-${core}` } } },
    );
    const nester = await attached(t, server);
    nester.open(inner, 'echo');
    await prove(server, 'echo');
    nester.nest(inner);
    for (let i = 0; i < 3; i++) await server.infer('hooked', { x: [[1.5]] });
    nester.nest(none);
    assert.equal(inlineOf(server, 'echo', 3), 0);
    nester.detach();
  },
);
