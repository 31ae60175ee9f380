import assert from 'node:assert/strict';
import test from 'node:test';
import { AlikeConfigs } from '../../src/config/alike.js';
import { tritonDefaults } from '../../src/config/complete.js';
import { datatypeOf, type ModelDescription } from '../../src/config/description.js';
import {
  finishConfig,
  prepareConfig,
  type ConfigContext,
  type PreparedConfig,
} from '../../src/config/prepare.js';
import type { ModelConfig } from '../../src/config/types.js';
import { TritonError } from '../../src/errors.js';
import { names, textOf } from '../corpus/repository.js';
import { gpus, parse, tritonErrorOf } from './helpers.js';

const file = 'config.pbtxt';
const tensors = `max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 16 }
output { name: "y" data_type: TYPE_FP32 dims: 16 }
`;

function contextOf(modelName: string, more: Partial<ConfigContext> = {}): ConfigContext {
  return {
    modelName,
    modelDirectory: `/models/${modelName}`,
    firstVersionEntries: [{ name: 'model.onnx', isDirectory: false }],
    autoComplete: true,
    gpus: () => gpus(2),
    instanceKind: undefined,
    ...more,
  };
}

/** A model whose inputs and outputs are as a configuration says; or, with other names, as none does. */
function describe(config: ModelConfig, prefix = ''): ModelDescription {
  const batch = config.max_batch_size > 0 ? [-1] : [];
  const tensor = ({
    name,
    data_type,
    dims,
  }: ModelConfig['input'][number] | ModelConfig['output'][number]): ModelDescription['inputs'][number] => ({
    name: prefix + name,
    datatype: datatypeOf(data_type),
    typeName: data_type,
    shape: [...batch, ...dims],
    optional: false,
    dimNames: [...batch, ...dims].map((_, index) => (index === 0 ? 'N' : '')),
  });
  return { inputs: config.input.map(tensor), outputs: config.output.map(tensor) };
}

/** What came of it, in a form that can be compared. */
function outcome(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    const { code, message, location } = error;
    return { code, message, location };
  }
}

/** As `prepareModel` does. */
function prepare(configs: AlikeConfigs, text: string | undefined, context: ConfigContext): PreparedConfig {
  const written = text === undefined ? undefined : { file, text };
  return configs.find(written, context) ?? configs.prepare(written, written && parse(text ?? ''), context);
}

/** Compares all that becomes of a model with what becomes of it if no other is known. */
function assertSame(configs: AlikeConfigs, text: string | undefined, context: ConfigContext): void {
  const alone = outcome(() => prepareConfig(text === undefined ? undefined : parse(text), context));
  const together = outcome(() => prepare(configs, text, context));
  if (!isPrepared(alone) || !isPrepared(together)) {
    assert.deepEqual(together, alone);
    return;
  }
  assert.deepEqual(together.config, alone.config);
  assert.deepEqual(Object.keys(together.config), Object.keys(alone.config));
  assert.deepEqual(together.notes, alone.notes);
  assert.deepEqual(together.groups, alone.groups);
  assert.equal(together.context, context);
  for (const description of [describe(alone.config), describe(alone.config, 'not-'), undefined]) {
    const finished = outcome(() => configs.finish(together, description, tritonDefaults));
    assert.deepEqual(
      finished,
      outcome(() => finishConfig(alone, description, tritonDefaults)),
    );
    // Once more, from what is remembered.
    assert.deepEqual(
      outcome(() => configs.finish(together, description, tritonDefaults)),
      finished,
    );
  }
}

function isPrepared(value: unknown): value is PreparedConfig {
  return typeof value === 'object' && value !== null && 'config' in value;
}

for (const name of names) {
  test(`models that are configured like ${name} are what each would be alone`, () => {
    const text = textOf(name);
    const own = /^name:\s*"([^"]*)"/m.exec(text)?.[1] ?? name;
    const configs = new AlikeConfigs();
    for (const other of [own, 'another-model', own, 'third.model', 'x']) {
      assertSame(configs, text.replaceAll(`"${own}"`, `"${other}"`), contextOf(other));
      // A name that is not the folder's.
      assertSame(configs, text, contextOf(other));
    }
  });
}

// What is tested here is on, whatever the run of the tests turns off.
delete process.env['TRITONTS_ALIKE'];

test('with TRITONTS_ALIKE=0 no model is like another', () => {
  process.env['TRITONTS_ALIKE'] = '0';
  const configs = new AlikeConfigs();
  delete process.env['TRITONTS_ALIKE'];
  for (const name of ['a', 'b']) assertSame(configs, undefined, contextOf(name));
  assert.equal(configs.find(undefined, contextOf('c')), undefined);
});

test('models without a configuration are what each would be alone', () => {
  const configs = new AlikeConfigs();
  for (const name of ['a', 'b', 'c.onnx', 'd']) assertSame(configs, undefined, contextOf(name));
  assert.ok(configs.find(undefined, contextOf('e')));
});

test('a model is like another one that differs in its name alone', () => {
  for (const before of ['', 'name: "NAME"\n', '# a comment\n\n  name : "NAME" ']) {
    const configs = new AlikeConfigs();
    const of = (name: string): string => before.replace('NAME', name) + tensors;
    prepare(configs, of('first'), contextOf('first'));
    const found = configs.find({ file, text: of('second') }, contextOf('second'));
    assert.equal(found?.config.name, 'second');
    assert.deepEqual(
      found.config.instance_group.map(({ name }) => name),
      ['second'],
    );
    assert.ok(Object.isFrozen(found.config) && Object.isFrozen(found.config.instance_group));
    const finished = configs.finish(found, describe(found.config), tritonDefaults);
    assert.equal(finished.config.name, 'second');
    assert.ok(Object.isFrozen(finished.config));
  }
});

const nearly: Readonly<Record<string, readonly [first: string, second: string]>> = {
  'in a space': [tensors, `${tensors} `],
  'in a value': [tensors, tensors.replace('8', '9')],
  'in a name that is not the first thing': [`${tensors} name: "first"`, `${tensors} name: "second"`],
  'in the name of an instance group too': [
    `name: "first" ${tensors} instance_group { name: "first" }`,
    `name: "second" ${tensors} instance_group { name: "second" }`,
  ],
  'in the name of an instance group': [
    `name: 'first' ${tensors} instance_group { name: "first" }`,
    `name: 'first' ${tensors} instance_group { name: "second" }`,
  ],
  'in a comment': [`# "first"\n${tensors}`, `# "second"\n${tensors}`],
  'in a name of two strings': [`name: "fir" "st" ${tensors}`, `name: "sec" "ond" ${tensors}`],
};

for (const [what, [first, second]] of Object.entries(nearly)) {
  test(`models that differ ${what} are not alike`, () => {
    const configs = new AlikeConfigs();
    prepare(configs, first, contextOf('first'));
    assert.equal(configs.find({ file, text: second }, contextOf('second')), undefined);
    assertSame(configs, second, contextOf('second'));
  });
}

test('models with other files, or a name that may mean a backend, are not alike', () => {
  const configs = new AlikeConfigs();
  prepare(configs, tensors, contextOf('first'));
  const others = contextOf('second', { firstVersionEntries: [{ name: 'model.onnx', isDirectory: true }] });
  assert.equal(configs.find({ file, text: tensors }, others), undefined);
  assert.equal(configs.find({ file, text: tensors }, contextOf('second.onnx')), undefined);
});

test('what is wrong with a model that is like another one names that model, its file and its line', () => {
  const configs = new AlikeConfigs();
  const of = (name: string): string => `name: "${name}"\n${tensors}`;
  const first = prepare(configs, of('first'), contextOf('first'));
  configs.finish(first, describe(first.config), tritonDefaults);
  const written = { file: '/models/second/config.pbtxt', text: of('second') };
  const second = configs.find(written, contextOf('second'));
  assert.ok(second);
  const error = tritonErrorOf(() => configs.finish(second, describe(second.config, 'not-'), tritonDefaults));
  assert.equal(error.model, 'second');
  assert.match(error.message, /input\[0\]\.name/);
  assert.deepEqual([error.location?.file, error.location?.line], ['/models/second/config.pbtxt', 3]);
});

test('models with the same fault are refused one by one', () => {
  const configs = new AlikeConfigs();
  const wrong = 'max_batch_size: -1';
  for (const name of ['first', 'second']) {
    const error = tritonErrorOf(() => prepare(configs, wrong, contextOf(name)));
    assert.equal(error.model, name);
  }
});
