import assert from 'node:assert/strict';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Datatype, InferResult } from '../../src/index.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { rejection, serve, start, type Context } from '../support/harness.js';

interface ScoresOptions {
  readonly datatype?: Datatype | 'STRING';
  readonly dims?: readonly number[];
  readonly batched?: boolean;
  readonly label?: string;
  readonly files?: RepositoryModel['files'];
}

/** A model scores = x with four classes, and echo = other. */
function scores(options: ScoresOptions = {}): RepositoryModel {
  const { datatype = 'FP32', dims = [4], batched = true, label, files = {} } = options;
  const tensor = (name: string, type: string, more = ''): string =>
    `{ name: "${name}" data_type: TYPE_${type} dims: [ ${dims.join(', ')} ] ${more} }`;
  const config = `backend: "identity" max_batch_size: ${batched ? 8 : 0}
    input [ ${tensor('x', datatype)}, ${tensor('other', 'INT32', 'optional: true')} ]
    output [ ${tensor('scores', datatype, label === undefined ? '' : `label_filename: "${label}"`)}, ${tensor('echo', 'INT32')} ]`;
  return { config, files, versions: { '1': {} } };
}

/** The classes in output scores. */
function classes({ outputs }: InferResult): [readonly number[] | undefined, string[] | undefined] {
  return [outputs['scores']?.shape, outputs['scores']?.as('BYTES').strings()];
}

/** The best classes of x, for a model with only a label file. */
async function labelled(t: Context, text: string | Uint8Array, count = 4): Promise<string[] | undefined> {
  const server = await serve(t, { m: scores({ label: 'labels.txt', files: { 'labels.txt': text } }) });
  const outputs = [{ name: 'scores', classification: count }];
  return classes(await server.infer('m', { x: [[4, 3, 2, 1]] }, { outputs }))[1];
}

const plain = ['4.000000:0', '3.000000:1', '2.000000:2', '1.000000:3'];
const withLabels = (...labels: readonly string[]): string[] =>
  plain.map((text, i) => ((labels[i] ?? '') === '' ? text : `${text}:${labels[i] ?? ''}`));

const labelFiles: readonly (readonly [what: string, text: string, labels: readonly string[]])[] = [
  ['one a line', 'cat\ndog\nowl\nemu\n', ['cat', 'dog', 'owl', 'emu']],
  ['the last without a line end', 'cat\ndog\nowl\nemu', ['cat', 'dog', 'owl', 'emu']],
  ['taken as they are', ' cat \ndog\n# owl\n"é:模"\n', [' cat ', 'dog', '# owl', '"é:模"']],
  ["of Windows' editors", '\uFEFFcat\r\ndog\r\n\r\nemu\r\n', ['cat', 'dog', '', 'emu']],
  ['none on an empty line', 'cat\n\n\nemu\n', ['cat', '', '', 'emu']],
  ['fewer than classes', 'cat\n', ['cat']],
  ['more than classes', 'a\nb\nc\nd\ne\nf\n', ['a', 'b', 'c', 'd']],
  ['none in an empty file', '', []],
];

for (const [what, text, labels] of labelFiles) {
  test(`labels of a file: ${what}`, async (t) => {
    assert.deepEqual(await labelled(t, text), withLabels(...labels));
  });
}

test("a label file may lie in a folder, and its path starts at the model's folder, with a slash too", async (t) => {
  for (const label of ['texts/labels.txt', '/texts/labels.txt', 'texts/../texts/labels.txt', '..labels']) {
    const files = { 'texts/labels.txt': 'cat', '..labels': 'cat' };
    const server = await serve(t, { m: scores({ label, files }) });
    const outputs = [{ name: 'scores', classification: 1 }];
    assert.deepEqual(classes(await server.infer('m', { x: [[4, 3, 2, 1]] }, { outputs })), [
      [1, 1],
      ['4.000000:0:cat'],
    ]);
  }
});

for (const [what, text, message] of [
  ['UTF-16', Buffer.from('\uFEFFcat\r\ndog', 'utf16le'), /it seems to be UTF-16; save it as UTF-8/],
  ['UTF-16 without a mark', Buffer.from('cat\r\ndog', 'utf16le'), /it seems to be UTF-16; save it as UTF-8/],
  ['Latin-1', Buffer.from('Käse', 'latin1'), /it is not UTF-8; save it as UTF-8/],
] as const) {
  test(`a label file in ${what} is refused, from a folder and from bytes`, async (t) => {
    const model = scores({ label: 'labels.txt' });
    const error = await rejection(labelled(t, text));
    assert.match(error.message, message);
    const server = await serve(t, {}, { modelControlMode: 'explicit' });
    const files = { 'config.pbtxt': Buffer.from(model.config ?? ''), '1/none': Buffer.from('') };
    const given = server.loadModel('m', { files: { ...files, 'labels.txt': text } });
    assert.match((await rejection(given)).message, message);
    await server.loadModel('m', { files: { ...files, 'labels.txt': Buffer.from('\uFEFFcat\r\ndog') } });
    const outputs = [{ name: 'scores', classification: 2 }];
    const answer = await server.infer('m', { x: [[4, 3, 2, 1]] }, { outputs });
    assert.deepEqual(classes(answer)[1], withLabels('cat', 'dog').slice(0, 2));
  });
}

test('a label file that is too large is refused by its size, unread', async (t) => {
  const models = { m: scores({ label: 'labels.txt', files: { 'labels.txt': '' } }) };
  const repository = await writeRepository(await temporaryFolder(t), models);
  await truncate(join(repository, 'm', 'labels.txt'), 2 ** 40);
  const error = await rejection(start(t, repository));
  assert.deepEqual([error.code, error.tensor], ['INTERNAL', 'scores']);
  assert.match(
    error.message,
    /labels\.txt cannot be read: the file has 1099511627776 bytes; at most 67108864/,
  );
});

test('a label file that is missing, and a folder, are INTERNAL with their path', async (t) => {
  for (const [label, files] of [
    ['labels.txt', {}],
    ['labels', { 'labels/labels.txt': 'cat' }],
  ] as const) {
    const error = await rejection(serve(t, { m: scores({ label, files }) }));
    assert.deepEqual([error.code, error.model, error.tensor], ['INTERNAL', 'm', 'scores']);
    assert.match(error.message, new RegExp(`[\\\\/]m[\\\\/]${label} cannot be read`));
  }
});

test("a label file outside of the model's folder is UNSUPPORTED, with its line", async (t) => {
  for (const label of ['../labels.txt', 'texts/../../labels.txt', '/../labels.txt']) {
    const error = await rejection(serve(t, { m: scores({ label }) }));
    assert.equal(error.code, 'UNSUPPORTED');
    assert.deepEqual([error.location?.field, error.location?.line], ['output[0].label_filename', 3]);
    assert.ok(error.message.includes(JSON.stringify(label)), error.message);
  }
});

test('changed labels count from the next load on', async (t) => {
  const folder = await temporaryFolder(t);
  await writeRepository(folder, { m: scores({ label: 'labels.txt', files: { 'labels.txt': 'old' } }) });
  const server = await start(t, folder, { modelControlMode: 'explicit', loadModels: ['m'] });
  const best = async (): Promise<unknown> =>
    classes(
      await server.infer('m', { x: [[4, 3, 2, 1]] }, { outputs: [{ name: 'scores', classification: 1 }] }),
    )[1];
  await writeFile(join(folder, 'm', 'labels.txt'), 'newer');
  assert.deepEqual(await best(), ['4.000000:0:old']);
  await server.loadModel('m');
  assert.deepEqual(await best(), ['4.000000:0:newer']);
});

test('each item of a batch has its best classes, equal ones by index', async (t) => {
  const server = await serve(t, { m: scores() });
  const x = [
    [1, 5, 5, -2],
    [NaN, 0, Infinity, 0],
  ];
  const best = async (classification: number): Promise<unknown> =>
    classes(await server.infer('m', { x }, { outputs: [{ name: 'scores', classification }] }));
  assert.deepEqual(await best(2), [
    [2, 2],
    ['5.000000:1', '5.000000:2', 'inf:2', '0.000000:1'],
  ]);
  // A count above the number of classes means all.
  assert.deepEqual(await best(100), [
    [2, 4],
    ['5.000000:1', '5.000000:2', '1.000000:0', '-2.000000:3', 'inf:2', '0.000000:1', '0.000000:3', 'nan:0'],
  ]);
});

test('without a batch dimension all elements are classes of one item', async (t) => {
  const server = await serve(t, { m: scores({ datatype: 'INT64', dims: [2, 3], batched: false }) });
  const x = [
    [1n, -5n, 2n ** 60n],
    [7n, 1n, 0n],
  ];
  assert.deepEqual(
    classes(await server.infer('m', { x }, { outputs: [{ name: 'scores', classification: 3 }] })),
    [[3], ['1152921504606846976:2', '7:3', '1:0']],
  );
});

test('only the outputs that ask for it are classified, and 0 is off', async (t) => {
  const server = await serve(t, { m: scores() });
  const inputs = { x: [[4, 3, 2, 1]], other: [[1, 2, 3, 4]] };
  const outputs = ['echo', { name: 'scores', classification: 2 }];
  const some = await server.infer('m', inputs, { outputs });
  assert.deepEqual(some.outputs['echo']?.toArray(), [[1, 2, 3, 4]]);
  assert.deepEqual(classes(some)[1], plain.slice(0, 2));
  for (const classification of [0, undefined]) {
    const off = await server.infer('m', inputs, { outputs: [{ name: 'scores', classification }] });
    assert.deepEqual(off.outputs['scores']?.toArray(), [[4, 3, 2, 1]]);
    assert.deepEqual(Object.keys(off.outputs), ['scores']);
  }
});

test('map() classifies too', async (t) => {
  const server = await serve(t, { m: scores() });
  const best: unknown[] = [];
  const outputs = [{ name: 'scores', classification: 1 }];
  for await (const result of server
    .model('m')
    .map([{ x: [[0, 1, 0, 0]] }, { x: [[0, 0, 0, 1]] }], { outputs })) {
    best.push(classes(result)[1]);
  }
  assert.deepEqual(best, [['1.000000:1'], ['1.000000:3']]);
});

test('what has no order cannot be classified, and is not run', async (t) => {
  for (const datatype of ['STRING', 'FP16', 'BF16', 'BOOL'] as const) {
    const server = await serve(t, { m: scores({ datatype }) });
    const outputs = [{ name: 'scores', classification: 1 }];
    const data = datatype === 'STRING' ? ['a', 'b', 'c', 'd'] : new Uint16Array(4);
    const x = datatype === 'BOOL' ? new Uint8Array(4) : { data, shape: [1, 4] };
    const error = await rejection(server.infer('m', { x }, { outputs }));
    assert.deepEqual([error.code, error.tensor], ['INVALID_ARG', 'scores']);
    const name = datatype === 'STRING' ? 'BYTES' : datatype;
    assert.match(error.message, new RegExp(`'m'.*'scores'.*the output is ${name}`));
    assert.match(error.stack ?? '', /labels\.test/);
    assert.equal(server.statistics('m')[0]?.inference_stats.fail.count, 0);
  }
});

for (const classification of [-1, 1.5, NaN, '2', true]) {
  test(`${typeof classification} ${String(classification)} is no count of classes`, async (t) => {
    const server = await serve(t, { m: scores() });
    const outputs = [{ name: 'scores', classification: classification as number }];
    const error = await rejection(server.infer('m', { x: [[4, 3, 2, 1]] }, { outputs }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /'scores'.*for options\.outputs\[\d\]\.classification but received/);
  });
}
