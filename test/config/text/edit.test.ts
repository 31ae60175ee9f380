import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  changeConfig,
  editConfig,
  expandConfig,
  printConfig,
  readModelConfig,
  type FieldChange,
} from '../../../src/config/index.js';
import { thrown } from '../../support/harness.js';
import fc from '../../support/fast-check.js';
import { root } from '../../support/project.js';
import { anyConfig } from '../arbitrary.js';

const file = 'config.pbtxt';
const edit = (text: string, ...changes: readonly FieldChange[]): string =>
  editConfig({ file, text }, changes);

test('a written value is replaced in its place, and all else stays', () => {
  const text = `# A model.
name: "m"  # its name
max_batch_size: 8 # rows
instance_group [
  { kind: KIND_CPU, count: 1 } # one
]
parameters { key: "a" value { string_value: "x" } }
parameters [ { key: "intra_op_thread_count" value: { string_value: "2"
  "4" } }, { key: "b" value { string_value: "" } } ]
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }
`;
  assert.equal(
    edit(
      text,
      { path: 'max_batch_size', value: 16 },
      { path: 'instance_group[0].count', value: 2 },
      { path: 'parameters["intra_op_thread_count"].string_value', value: '1' },
      { path: 'dynamic_batching.preferred_batch_size', value: [16] },
      { path: 'dynamic_batching.max_queue_delay_microseconds', value: 0 },
    ),
    `# A model.
name: "m"  # its name
max_batch_size: 16 # rows
instance_group [
  { kind: KIND_CPU, count: 2 } # one
]
parameters { key: "a" value { string_value: "x" } }
parameters [ { key: "intra_op_thread_count" value: { string_value: "1" } }, { key: "b" value { string_value: "" } } ]
dynamic_batching { preferred_batch_size: [ 16 ] max_queue_delay_microseconds: 0 }
`,
  );
});

test('a missing field is added to its block, in the form of the block', () => {
  const delay = { path: 'dynamic_batching.max_queue_delay_microseconds', value: 500 };
  assert.equal(
    edit('dynamic_batching { }\n', delay),
    'dynamic_batching { max_queue_delay_microseconds: 500 }\n',
  );
  assert.equal(edit('dynamic_batching {}', delay), 'dynamic_batching { max_queue_delay_microseconds: 500 }');
  assert.equal(
    edit('dynamic_batching <preserve_ordering: true>', delay),
    'dynamic_batching <preserve_ordering: true max_queue_delay_microseconds: 500>',
  );
  assert.equal(
    edit('dynamic_batching {\n    preserve_ordering: true, # in order\n}\n', delay),
    'dynamic_batching {\n    preserve_ordering: true, # in order\n    max_queue_delay_microseconds: 500\n}\n',
  );
  assert.equal(
    edit('instance_group [ { kind: KIND_CPU } ]', { path: 'instance_group[0].count', value: 3 }),
    'instance_group [ { kind: KIND_CPU count: 3 } ]',
  );
});

test('a missing block is added at the end of the file', () => {
  assert.equal(
    edit(
      'name: "m"',
      { path: 'instance_group[0].count', value: 2 },
      { path: 'parameters["inline"].string_value', value: 'off' },
      { path: 'dynamic_batching', value: {} },
    ),
    `name: "m"
instance_group [
  {
    count: 2
  }
]
parameters {
  key: "inline"
  value {
    string_value: "off"
  }
}
dynamic_batching { }
`,
  );
  assert.equal(edit('', { path: 'max_batch_size', value: 4 }), 'max_batch_size: 4\n');
  assert.equal(
    edit('instance_group [ ]\n', { path: 'instance_group[0].count', value: 2 }).includes('count: 2'),
    true,
  );
});

test('a list that is written in parts, or is emptied, is written once', () => {
  const sizes = (value: readonly number[]): FieldChange => ({
    path: 'dynamic_batching.preferred_batch_size',
    value,
  });
  const text = 'dynamic_batching { preferred_batch_size: 4 # four\npreferred_batch_size: 8 }';
  assert.match(
    edit(text, sizes([2, 16])),
    /^dynamic_batching \{ preferred_batch_size: \[ 2, 16 \] # four\n\s*\}$/,
  );
  assert.match(edit(text, sizes([])), /^dynamic_batching \{ preferred_batch_size: \[ \] # four\n\s*\}$/);
});

test('a byte order mark and carriage returns stay', () => {
  assert.equal(
    edit('\uFEFFname: "m"\r\nmax_batch_size: 8\r\n', { path: 'max_batch_size', value: 9 }),
    '\uFEFFname: "m"\r\nmax_batch_size: 9\r\n',
  );
});

test('a value that is written already changes nothing', () => {
  const text = 'max_batch_size: 8\n';
  assert.equal(edit(text, { path: 'max_batch_size', value: 8 }), text);
  assert.equal(
    edit(text, { path: 'dynamic_batching.max_queue_delay_microseconds', value: 0 }).startsWith(text),
    true,
  );
});

test('a wrong text is refused, with its place', () => {
  const { code, message } = thrown(() => edit('max_batch_size: "x"', { path: 'max_batch_size', value: 8 }));
  assert.equal(code, 'INVALID_ARG');
  assert.match(message, /config\.pbtxt:1/);
});

test('the configurations of the examples can be changed, and only there', () => {
  const changes: readonly FieldChange[] = [
    { path: 'max_batch_size', value: 32 },
    { path: 'instance_group[0].count', value: 3 },
    { path: 'dynamic_batching.max_queue_delay_microseconds', value: 250 },
    { path: 'dynamic_batching.preferred_batch_size', value: [8, 16] },
    { path: 'parameters["intra_op_thread_count"].string_value', value: '2' },
    { path: 'parameters["inline"].string_value', value: 'off' },
  ];
  for (const example of ['digits/models/digits', 'digits/models/digits_conv', 'trees/models/digits_trees']) {
    const text = readFileSync(join(root, 'examples', example, file), 'utf8');
    const changed = edit(text, ...changes);
    const wanted = printConfig(expandConfig(changeConfig(readModelConfig({ file, text }).value, changes)));
    assert.equal(printConfig(expandConfig(readModelConfig({ file, text: changed }).value)), wanted, example);
    const comments = (of: string): readonly string[] => of.match(/#.*/g) ?? [];
    assert.deepEqual(comments(changed), comments(text), example);
  }
});

test('any configuration can be changed, in the form in which it is printed', () => {
  const change: FieldChange = { path: 'parameters["inline"].string_value', value: 'off' };
  fc.assert(
    fc.property(anyConfig, (config) => {
      const text = printConfig(expandConfig({ ...config, parameters: { inline: { string_value: 'auto' } } }));
      const { value } = readModelConfig({ file, text });
      const changes = [
        change,
        { path: 'max_batch_size', value: 7 },
        { path: 'instance_group[0].count', value: 5 },
      ];
      const read = readModelConfig({ file, text: edit(text, ...changes) }).value;
      assert.deepEqual(
        printConfig(expandConfig(read)),
        printConfig(expandConfig(changeConfig(value, changes))),
      );
    }),
    { numRuns: 100 },
  );
});

test('a change leaves the given configuration as it is', () => {
  const given = { instance_group: [{ count: 1 }], parameters: {} };
  const changed = changeConfig(given, [
    { path: 'instance_group[0].count', value: 2 },
    { path: 'parameters["a.b"].string_value', value: 'x' },
  ]);
  assert.deepEqual(given, { instance_group: [{ count: 1 }], parameters: {} });
  assert.deepEqual(changed, { instance_group: [{ count: 2 }], parameters: { 'a.b': { string_value: 'x' } } });
});

test('comments in a list that is replaced stay before it', () => {
  const text = `dynamic_batching {
  preferred_batch_size: [
    4, # small clients
    8  # big clients
  ]
}
`;
  assert.equal(
    edit(text, { path: 'dynamic_batching.preferred_batch_size', value: [8] }),
    `dynamic_batching {
  # small clients
  # big clients
  preferred_batch_size: [ 8 ]
}
`,
  );
});

test('added lines end as the lines of the file', () => {
  const text = 'max_batch_size: 8\r\ndynamic_batching {\r\n  preserve_ordering: true # as sent\r\n}\r\n';
  assert.equal(
    edit(
      text,
      { path: 'dynamic_batching.max_queue_delay_microseconds', value: 100 },
      { path: 'instance_group[0].count', value: 2 },
    ),
    'max_batch_size: 8\r\ndynamic_batching {\r\n  preserve_ordering: true # as sent\r\n  max_queue_delay_microseconds: 100\r\n}\r\n' +
      'instance_group [\r\n  {\r\n    count: 2\r\n  }\r\n]\r\n',
  );
});
