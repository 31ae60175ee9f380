import assert from 'node:assert/strict';
import test from 'node:test';
import { findUnsupported } from '../../../src/config/support/unsupported.js';
import { allFieldPaths, enumNames } from '../../../src/config/schema/fields.js';
import { supportOf, supportTable } from '../../../src/config/support/field-support.js';
import { backends, normalized, whole } from '../helpers.js';

const classified = (text: string): { problems: string[]; notes: readonly string[] } => {
  const config = whole(text);
  const onGpu = config.instance_group.some(({ kind }) => kind === 'KIND_GPU');
  const { problems, notes } = findUnsupported(config, backends.get(config.backend), onGpu);
  return { problems: problems.map((problem) => `${problem.code} ${problem.path}: ${problem.text}`), notes };
};

test('every field of the schema has a class', () => {
  for (const { path } of allFieldPaths()) assert.ok(supportOf(path).support.text.length > 0, path);
});

test('every field inside of an acted message has a row of its own', () => {
  for (const { path } of allFieldPaths()) {
    const { row, support } = supportOf(path);
    assert.ok(row === path || support.class !== 'acted', `${path} has only the row ${row}`);
  }
});

test('every row stands for a field of the schema, and its values for values of that field', () => {
  const fields = new Map(allFieldPaths().map(({ path, field }) => [path, field]));
  for (const [path, { values }] of Object.entries(supportTable)) {
    const field = fields.get(path);
    assert.ok(field, path);
    for (const value of Object.keys(values ?? {}))
      assert.ok(enumNames(field.type).includes(value), `${path} ${value}`);
  }
});

test('no row is hidden by a hint or refusal around it', () => {
  for (const path of Object.keys(supportTable)) {
    const parent = path.slice(0, Math.max(path.lastIndexOf('.'), 0));
    if (parent !== '') assert.equal(supportOf(parent).support.class, 'acted', path);
  }
});

for (const [text, path] of [
  ['runtime: "libtriton_other.so"', 'runtime'],
  [
    'sequence_batching { state { use_growable_memory: true } }',
    'sequence_batching.state[0].use_growable_memory',
  ],
  ['backend: "fil" batch_input { }', 'batch_input'],
  ['backend: "identity" batch_output { }', 'batch_output'],
  ['backend: "tensorrt" input { allow_ragged_batch: true }', 'input[0].allow_ragged_batch'],
  ['backend: "identity" instance_group { kind: KIND_MODEL }', 'instance_group[0].kind'],
  ['instance_group { passive: true }', 'instance_group[0].passive'],
  ['instance_group { secondary_devices { } }', 'instance_group[0].secondary_devices'],
  [
    'parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "x" } }',
    'parameters["TRITON_BATCH_STRATEGY_PATH"]',
  ],
] as const) {
  test(`${text} is refused as unsupported`, () => {
    const { problems } = classified(text);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.ok(problems[0]?.startsWith(`UNSUPPORTED ${path}: `), problems[0]);
    assert.match(problems[0] ?? '', /not supported: /);
  });
}

for (const backend of ['tensorrt', 'onnxruntime']) {
  const text = `backend: "${backend}" optimization { priority: PRIORITY_MAX cuda { busy_wait_events: true }
    gather_kernel_buffer_threshold: 4 }`;
  test(`what is for instances on GPUs has its effect on those of ${backend}, and a note without`, () => {
    const { problems, notes } = findUnsupported(
      whole(`${text} instance_group { kind: KIND_GPU }`),
      backends.get(backend),
      true,
    );
    assert.deepEqual([problems, notes], [[], []]);
    assert.equal(findUnsupported(whole(text), backends.get(backend), false).notes.length, 3);
  });
}

for (const [text, path] of [
  ['input { format: FORMAT_NCHW }', 'input[0].format'],
  ['optimization { priority: PRIORITY_MAX }', 'optimization.priority'],
  ['optimization { cuda { graphs: true } }', 'optimization.cuda.graphs'],
  ['optimization { cuda { busy_wait_events: true } }', 'optimization.cuda.busy_wait_events'],
  ['optimization { input_pinned_memory { } }', 'optimization.input_pinned_memory'],
  ['dynamic_batching { default_priority_level: 2 }', 'dynamic_batching.default_priority_level'],
  [
    'dynamic_batching { priority_queue_policy { key: 1 value { max_queue_size: 1 } } }',
    'dynamic_batching.priority_queue_policy',
  ],
  ['backend: "javascript" batch_input { }', 'batch_input'],
  ['backend: "python" batch_output { }', 'batch_output'],
  ['backend: "of_the_program" batch_input { }', 'batch_input'],
  ['cc_model_filenames { key: "7.5" value: "b" }', 'cc_model_filenames'],
  [
    'backend: "pytorch" model_operations { op_library_filename: "x" }',
    'model_operations.op_library_filename',
  ],
  [
    'backend: "onnxruntime" parameters { key: "gpu_mem_limit" value { string_value: "1" } }',
    'parameters["gpu_mem_limit"]',
  ],
  ['backend: "onnxruntime" parameters { key: "constructor" }', 'parameters["constructor"]'],
] as const) {
  test(`${text} is accepted with a note`, () => {
    const { problems, notes } = classified(text);
    assert.deepEqual(problems, []);
    assert.equal(notes.length, 1, notes.join('\n'));
    assert.ok(notes[0]?.startsWith(`${path}: accepted, without effect here: `), notes[0]);
  });
}

for (const text of [
  'input { reshape { } optional: true data_type: TYPE_FP16 } input { data_type: TYPE_STRING }',
  'output { reshape { shape: 1 } label_filename: "l" data_type: TYPE_BF16 }',
  'backend: "onnxruntime" optimization { graph { level: 1 } } model_operations { op_library_filename: "x" }',
  'backend: "tensorflow" model_operations { op_library_filename: "x" }',
  'backend: "onnxruntime" parameters { key: "intra_op_thread_count" value { string_value: "2" } }',
  'name: "m" platform: "p" backend: "b" max_batch_size: 8 version_policy { all { } }',
  'backend: "onnxruntime" runtime: "libtriton_onnxruntime.so"',
  'input { name: "x" data_type: TYPE_FP32 dims: 1 optional: false format: FORMAT_NONE } output { name: "y" }',
  'dynamic_batching { preferred_batch_size: 4 max_queue_delay_microseconds: 100 preserve_ordering: false }',
  'sequence_batching { direct { } state { use_same_buffer_for_input_output: true } iterative_sequence: true }',
  'sequence_batching { state { initial_state { data_file: "s.bin" } } }',
  'sequence_batching { oldest { max_candidate_sequences: 4 preserve_ordering: true } control_input { } }',
  'dynamic_batching { default_queue_policy { timeout_action: REJECT max_queue_size: 0 } }',
  'instance_group { name: "x" count: 2 kind: KIND_CPU } instance_group { kind: KIND_AUTO passive: false }',
  'instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }',
  'response_cache { enable: true } model_transaction_policy { decoupled: false } model_operations { }',
  'optimization { graph { level: 0 } execution_accelerators { } } model_repository_agents { }',
  'default_model_filename: "x.onnx"',
  'backend: "onnxruntime" parameters { key: "execution_mode" value { string_value: "0" } }',
  'backend: "identity" parameters { key: "execute_delay_ms" value { string_value: "10" } }',
  'backend: "mine" parameters { key: "anything" value { string_value: "x" } }',
]) {
  test(`${text} is acted on without a word`, () => {
    assert.deepEqual(classified(text), { problems: [], notes: [] });
  });
}

test('a parameter that must be a number is refused if it is none', () => {
  const { problems } = classified(
    'backend: "identity" parameters { key: "execute_delay_ms" value { string_value: "soon" } }',
  );
  assert.deepEqual(problems, [
    'INVALID_ARG parameters["execute_delay_ms"]: expected an integer but found "soon"',
  ]);
});

test('a misspelt parameter loads, and the note says what may be meant', () => {
  const { notes } = classified(
    'backend: "onnxruntime" parameters { key: "intra_op_threads_count" value { string_value: "2" } }',
  );
  assert.match(notes.join(), /has no such parameter \(did you mean intra_op_thread_count\?\)/);
});

test("Triton's own defaults are never refused", () => {
  const config = normalized('name: "m" backend: "onnxruntime" max_batch_size: 4 dynamic_batching { }');
  assert.deepEqual(findUnsupported(config, backends.get(config.backend), false).problems, []);
});
