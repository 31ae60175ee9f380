/** A plug-in that calls every function which Triton's interfaces offer to a backend, and checks what it gets. */

import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InferResult } from '../../../src/index.js';
import { anyLength, floats, identity } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { refusedFunctions } from '../../support/refused-functions.js';
import { pluginFolder, pluginModel, serving, skip } from './own-plugins.js';

const texts = ['called', 'faults', 'facts'].map((name) => ({ name, datatype: 'BYTES', dims: [-1] }) as const);
const options = {
  maxBatchSize: 8,
  inputs: [
    { name: 'x', dims: [-1] },
    { name: 'text', datatype: 'BYTES', dims: [-1], optional: true },
  ],
  outputs: [{ name: 'y', dims: [-1] }, ...texts],
} as const;

const strings = (result: InferResult, name: string): readonly string[] =>
  result.outputs[name]?.strings() ?? [];

function factsOf(result: InferResult): Record<string, string> {
  return Object.fromEntries(
    strings(result, 'facts').map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

/** The functions that a list of the header declares. */
function functionsOf(header: string, list: string): string[] {
  const text = new RegExp(`#define ${list}\\(X\\)([^]*?)\\n\\n`).exec(header)?.[1] ?? '';
  const names = [...text.matchAll(/X\([\w ]+\*?,\s*\\?\s*(TRITON\w+),/g)].map(([, name = '']) => name);
  assert.ok(names.length > 10);
  return names;
}

test('a plug-in calls every function, and gets what it must', { skip }, async (t) => {
  const server = await serving(
    t,
    {
      every: pluginModel('every', { ...options, parameters: { calls: 'same' }, instances: 2 }),
      same: identity(anyLength),
    },
    { backendConfig: { every: { colour: 'red' } } },
  );
  const first = await server.infer(
    'every',
    { x: [[1, 2, 3]], text: [['a', 'bc']] },
    { id: 'me', timeoutUs: 9_000_000, parameters: { s: 'text', i: 7, b: true, d: 0.5 } },
  );
  assert.deepEqual(floats(first), [1, 2, 3]);
  const result = await server.infer('every', { x: [[4]] }, { id: 'other' });
  assert.deepEqual(floats(result), [4]);
  assert.deepEqual(strings(result, 'faults'), []);
  // The parameters that it sets on its response.
  assert.deepEqual(result.parameters, { text: 'twice', whole: -7, flag: true, real: 0.25 });

  const facts = factsOf(first);
  const expected: Record<string, string> = {
    'backend.version': '1.19',
    'server.version': '1.34',
    'backend.name': 'every',
    // The library tells the folder that it was opened from, with links resolved.
    'backend.artifacts': realpathSync(join(pluginFolder, 'every')),
    'model.name': 'every',
    'model.version': '1',
    'model.completes': 'yes',
    'model.inputs': '2',
    'instance.kind': 'CPU',
    'instance.device': '0',
    'instance.passive': 'no',
    'instance.profiles': '0',
    'instance.secondary': '0',
    'request.id': 'me',
    'request.correlation': '0',
    'request.flags': '0',
    'request.timeout': '9000000',
    'request.input.x': 'FP32 1 3',
    'request.input.text': 'BYTES 1 2',
    'request.parameter.s': 'STRING text',
    'request.parameter.i': 'INT 7',
    'request.parameter.b': 'BOOL true',
    'request.parameter.d': 'DOUBLE 0.500000',
    'request.outputs': 'y called faults facts',
    'asked.y': '1.000000 2.000000',
  };
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, facts[name]])), expected);
  const { cmdline } = JSON.parse(facts['backend.config'] ?? '') as { cmdline: Record<string, string> };
  assert.equal(cmdline['colour'], 'red');
  assert.equal(cmdline['auto-complete-config'], 'true');
  assert.ok(Object.values(cmdline).every((value) => typeof value === 'string'));
  const config = JSON.parse(facts['model.config'] ?? '') as { name: string; input: { name: string }[] };
  assert.deepEqual([config.name, config.input.map(({ name }) => name)], ['every', ['x', 'text']]);
  const metadata = JSON.parse(facts['model.metadata'] ?? '') as { name: string; platform: string };
  assert.equal(metadata.name, 'every');

  const header = await readFile(join(root, 'native', 'plugins', 'abi', 'functions.h'), 'utf8');
  const left = new Set([
    ...functionsOf(header, 'TRITONTS_SERVER_FUNCTIONS'),
    ...functionsOf(header, 'TRITONTS_BACKEND_FUNCTIONS'),
  ]);
  const called = new Set(strings(result, 'called'));
  // A refused one counts as called only if it was refused by its name.
  for (const name of await refusedFunctions()) assert.ok(called.has(name), name);
  for (const name of called) left.delete(name);
  // The next test has those that complete a configuration, and the plug-in `stateful` those of a state.
  assert.deepEqual([...left].sort(), [
    'TRITONBACKEND_ModelSetConfig',
    'TRITONBACKEND_StateBuffer',
    'TRITONBACKEND_StateBufferAttributes',
    'TRITONBACKEND_StateUpdate',
    'TRITONSERVER_MessageNewFromSerializedJson',
  ]);
});

test('a plug-in completes a configuration, and finds its end in order', { skip }, async (t) => {
  const bare = { config: 'backend: "every"', versions: { '1': {} } };
  const server = await serving(t, { every: bare }, { modelControlMode: 'explicit' });
  await server.loadModel('every');
  const { config } = server.model('every');
  assert.equal(config.max_batch_size, 8);
  assert.deepEqual(
    config.output.map(({ name, data_type: type }) => [name, type]),
    [
      ['y', 'TYPE_FP32'],
      ['called', 'TYPE_STRING'],
      ['faults', 'TYPE_STRING'],
      ['facts', 'TYPE_STRING'],
    ],
  );
  assert.deepEqual(floats(await server.infer('every', { x: [[1]] })), [1]);
  await server.unloadModel('every');
  await server.loadModel('every');
  const result = await server.infer('every', { x: [[2]] });
  assert.deepEqual(strings(result, 'faults'), []);
  const facts = factsOf(result);
  for (const name of ['instance.finalized', 'model.finalized', 'backend.finalized'])
    assert.equal(facts[name], 'yes', name);
});

test('a preferred instance group of a plug-in counts where a configuration has none', { skip }, async (t) => {
  const { config = '', versions = {} } = pluginModel('every', options);
  const none = config.replace(/^instance_group.*$/m, '');
  assert.notEqual(none, config);
  const server = await serving(t, { every: { config: none, versions } });
  const { instance_group: groups } = server.model('every').config;
  assert.deepEqual(
    groups.map(({ kind, count }) => [kind, count]),
    [['KIND_CPU', 2]],
  );
});
