// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { classifyAll } from '../../examples/digits/compare.js';
import { languages } from '../../examples/languages/sentences.js';
import { onThisThread, served } from '../../examples/text/contestants.js';
import { pages, sentences } from '../../examples/text/data.js';
import { modelRepository } from '../../examples/text/folder.js';
import { readTokenizer, tokenizersPackage } from '../../examples/text/tokenizer.js';
import { trainedFiles } from '../../examples/text/train.js';
import { learnVocabulary } from '../../examples/text/vocabulary.js';
import { createServer } from '../../src/index.js';
import { compile, layOut, readmeProgram } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const folder = fileURLToPath(new URL('../../../examples/text/', import.meta.url));

const tokenizers = await tokenizersPackage();
const skip = tokenizers ? false : '@huggingface/tokenizers is not installed: npm ci';
const tokenizer = tokenizers && readTokenizer(tokenizers);
const server = tokenizer && (await createServer(modelRepository));
after(() => server?.close());

/** The ids of these texts from Python's `tokenizers` 0.23.3 with the same `tokenizer.json`. */
const idsInPython: readonly (readonly [string, readonly number[]])[] = [
  ['Good evening!', [2, 60, 375, 7, 58, 291, 149, 1, 3]],
  [
    'Wie viele Äpfel habt ihr gestern gepflückt?',
    [2, 76, 97, 351, 106, 1, 336, 23, 62, 174, 182, 468, 21, 17, 182, 19, 9, 15, 47, 356, 23, 53, 3],
  ],
  [
    '¿Cuántas manzanas recogisteis ayer?',
    [2, 79, 257, 32, 17, 102, 22, 339, 252, 452, 22, 345, 274, 10, 114, 100, 114, 54, 28, 87, 53, 3],
  ],
  ['日本 x', [2, 1, 1, 1, 3]],
  ['', [2, 3]],
];

/** Each text's ids from the model `tokenize`, as far as its mask has ones. */
async function idsOf(texts: readonly string[]): Promise<number[][]> {
  const { outputs } = (await server?.infer('tokenize', { text: texts.map((text) => [text]) })) ?? {};
  const mask = outputs?.attention_mask?.as('INT64').toArray() as bigint[][];
  const ids = outputs?.input_ids?.as('INT64').toArray() as bigint[][];
  return ids.map((row, i) => {
    const length = mask[i]?.lastIndexOf(1n) ?? -1;
    assert.ok(mask[i]?.every((bit, at) => bit === (at <= length ? 1n : 0n)));
    assert.ok(row.every((id, at) => at <= length || id === 0n));
    return row.slice(0, length + 1).map(Number);
  });
}

test('a vocabulary joins what is frequent, and learns the same from the same texts', () => {
  const texts = ['low low low lower', 'newest newest'];
  const vocabulary = learnVocabulary(texts, 24);
  assert.deepEqual(vocabulary.slice(0, 4), ['[PAD]', '[UNK]', '[CLS]', '[SEP]']);
  assert.ok(vocabulary.includes('low') && vocabulary.includes('##e') && vocabulary.includes('newest'));
  assert.equal(new Set(vocabulary).size, vocabulary.length);
  assert.deepEqual(learnVocabulary(texts, 24), vocabulary);
});

test('the committed tokenizer, classifier and labels are those that train.ts makes', { skip }, async () => {
  for (const [path, made] of Object.entries(await trainedFiles())) {
    const committed = readFileSync(new URL(path, modelRepository));
    assert.ok(committed.equals(Buffer.from(made)), `${path}: run node dist/examples/text/train.js`);
  }
});

test('the model tokenize has the ids of the library, and of the library in Python', { skip }, async () => {
  assert.deepEqual(
    await idsOf(idsInPython.map(([text]) => text)),
    idsInPython.map(([, ids]) => ids),
  );
  for (const { text } of sentences) assert.deepEqual(await idsOf([text]), [tokenizer?.encode(text).ids]);
});

test('a text of more ids than the classifier takes is cut, and ends as others do', { skip }, async () => {
  const text = 'abc '.repeat(1000);
  const [ids = []] = await idsOf([text]);
  assert.equal(ids.length, 512);
  assert.equal(ids.at(-1), 3);
  assert.deepEqual(ids.slice(0, -1), tokenizer?.encode(text).ids.slice(0, 511));
});

test('texts of very different lengths in one request have one answer each', { skip }, async () => {
  const texts = ['Guten Abend!', pages[0]?.text ?? '', ''];
  const { outputs } = (await server?.infer('language', { text: texts.map((text) => [text]) })) ?? {};
  assert.deepEqual(outputs?.label?.strings().slice(0, 2), ['German', 'English']);
  assert.deepEqual(outputs.label.shape, [3, 1]);
  // For an empty text all languages are equally likely.
  assert.ok(Math.abs((outputs.score?.as('FP32').data[2] ?? 0) - 1 / languages.length) < 1e-6);
});

test('the ensemble answers as tokenizer and onnxruntime-node do, 95 % of it right', { skip }, async () => {
  assert.ok(server && tokenizer);
  const direct = await onThisThread(tokenizer, 1);
  try {
    const texts = [...sentences, ...pages];
    const answers = await classifyAll(served(server.model('language')), texts);
    assert.deepEqual(answers, await classifyAll(direct, texts));
    const right = sentences.filter(({ label }, i) => label === answers[i]).length;
    assert.ok(right >= 0.95 * sentences.length, `${right} right`);
  } finally {
    await direct.close();
  }
});

test('what is wrong with a text is said, and the next one is answered', { skip }, async () => {
  assert.ok(server);
  await assert.rejects(server.infer('language', { text: [[7]] }), {
    code: 'INVALID_ARG',
    message: /model 'language', input 'text'/,
  });
  assert.equal(await served(server.model('language')).classify({ text: 'Bonsoir !', label: '' }), 'French');
});

test('several texts are one request of as many rows', { skip }, async () => {
  assert.ok(server);
  const { outputs } = await server.infer('language', {
    text: ['Guten Abend, wie geht es Ihnen?', 'Bonsoir, comment ça va ?'],
  });
  assert.deepEqual(outputs['label']?.shape, [2, 1]);
  assert.deepEqual(outputs['label'].as('BYTES').strings(), ['German', 'French']);
});

test('the program of the example prints labels and probabilities', { skip }, async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: folder });
  assert.equal(stderr, '');
  assert.match(stdout, /^German [01]\.\d\d\nFrench [01]\.\d\d\n$/);
});

test('the program of the README prints what it says', { skip }, async () => {
  assert.match(await readmeProgram(folder), /^\[ 'German' \] Float32Array\(1\) \[ 0\.99\d* \]\n$/);
});

test('the example is typed', { skip }, async (t) => {
  const project = await temporaryFolder(t);
  await layOut('text', project, '@huggingface', 'onnxruntime-node', '@types');
  const options =
    '--noEmit --strict false --skipLibCheck --allowJs --checkJs --target es2022 --module nodenext --lib es2023,esnext.disposable,dom --types node';
  const files = ['main.mjs', 'models/tokenize/1/model.mjs', 'models/label/1/model.mjs'];
  assert.equal(await compile(project, ...options.split(' '), ...files), '');
});
