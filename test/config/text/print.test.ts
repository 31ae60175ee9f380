import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import fc from '../../support/fast-check.js';
import { deepFreeze, expandConfig } from '../../../src/config/schema/expand.js';
import { allFieldPaths } from '../../../src/config/schema/fields.js';
import { printConfig, printConfigJson } from '../../../src/config/text/print.js';
import { readModelConfigJson } from '../../../src/config/text/read-json.js';
import { anyConfig } from '../arbitrary.js';
import { parse, whole } from '../helpers.js';

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../../test/config/fixtures/${name}`, import.meta.url), 'utf8');

/** Fixtures: a text, and the JSON form from Google's parser. Together they have every field. */
const fixtures = ['dynamic', 'sequence', 'oldest', 'ensemble'];

for (const name of fixtures) {
  test(`the ${name} example reads as Google's parser reads it`, () => {
    const config = whole(fixture(`${name}.pbtxt`));
    assert.deepEqual(JSON.parse(printConfigJson(config)), JSON.parse(fixture(`${name}.json`)));
  });

  test(`the ${name} example reads back equal after printing`, () => {
    const config = whole(fixture(`${name}.pbtxt`));
    assert.deepEqual(whole(printConfig(config)), config);
    const { value } = readModelConfigJson({ file: 'json', value: printConfigJson(config) });
    assert.deepEqual(expandConfig(value), config);
  });
}

test('the examples have every field of the schema', () => {
  const written = new Set<string>();
  const collect = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const isMap = !Array.isArray(value) && Object.getPrototypeOf(value) === null;
    for (const [name, one] of Object.entries(value) as [string, unknown][]) {
      const at = Array.isArray(value) || isMap ? path : path === '' ? name : `${path}.${name}`;
      written.add(at);
      collect(one, at);
    }
  };
  for (const name of fixtures) collect(parse(fixture(`${name}.pbtxt`)).value, '');
  const missing = allFieldPaths().filter(({ path }) => !written.has(path));
  assert.deepEqual(
    missing.map(({ path }) => path),
    [],
  );
});

test('any configuration reads back equal from its text', () => {
  fc.assert(
    fc.property(anyConfig, (written) => {
      const config = expandConfig(written);
      assert.deepEqual(whole(printConfig(config)), config);
    }),
    { numRuns: 150 },
  );
});

test('any configuration reads back equal from its JSON', () => {
  fc.assert(
    fc.property(anyConfig, (written) => {
      const config = expandConfig(written);
      const { value } = readModelConfigJson({ file: 'json', value: printConfigJson(config) });
      // JSON has no negative zero.
      assert.deepEqual(JSON.parse(printConfigJson(expandConfig(value))), JSON.parse(printConfigJson(config)));
    }),
    { numRuns: 100 },
  );
});

test('printed text leaves out defaults but says max_batch_size, and looks as people write it', () => {
  const config =
    whole(`name: "x" input { name: "a\\"\\001\\n\\\\" data_type: TYPE_FP32 dims: [-1, 3] reshape {} }
    metric_tags { key: "k" value: "" } dynamic_batching {}`);
  assert.equal(
    printConfig(config),
    `name: "x"
max_batch_size: 0
input [
  {
    name: "a\\"\\001\\n\\\\"
    data_type: TYPE_FP32
    dims: [ -1, 3 ]
    reshape { }
  }
]
dynamic_batching { }
metric_tags {
  key: "k"
  value: ""
}
`,
  );
});

test('the whole form has scalars, lists and maps always, messages and members of a oneof only when written', () => {
  const config = whole(
    'response_cache {} input { } model_warmup { inputs { key: "x" value { zero_data: false } } }',
  );
  assert.equal(config.max_batch_size, 0);
  assert.deepEqual(config.output, []);
  assert.deepEqual(Object.keys(config.parameters), []);
  assert.deepEqual(config.response_cache, { enable: false });
  assert.equal(config.input[0]?.data_type, 'TYPE_INVALID');
  assert.ok(!('version_policy' in config));
  assert.ok(!('dynamic_batching' in config));
  assert.ok(!('reshape' in config.input[0]));
  assert.deepEqual(config.model_warmup[0]?.inputs['x'], {
    data_type: 'TYPE_INVALID',
    dims: [],
    zero_data: false,
  });
});

test('a frozen configuration is frozen to its last part', () => {
  const config = deepFreeze(whole('input { dims: 1 } parameters { key: "k" value { string_value: "v" } }'));
  for (const part of [
    config,
    config.input,
    config.input[0],
    config.input[0]?.dims,
    config.parameters,
    config.parameters['k'],
  ]) {
    assert.ok(Object.isFrozen(part));
  }
});
