import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { modelRepository } from '../../examples/languages/folder.js';
import { languages, testSentences, trainingSentences } from '../../examples/languages/sentences.js';
import { toIds, vocabularySize } from '../../examples/languages/tokens.js';
import { languageModel } from '../../examples/languages/train.js';
import { onnxRuntime } from '../support/onnx/run.js';

const { InferenceSession, Tensor } = onnxRuntime();

test('the committed language model is the one that train.ts makes', () => {
  const committed = readFileSync(new URL('languages/1/model.onnx', modelRepository));
  assert.ok(committed.equals(languageModel()), 'run node dist/examples/languages/train.js');
});

test('there are sentences for every language, and none for both training and test', () => {
  assert.equal(trainingSentences.length, languages.length);
  assert.equal(testSentences.length, languages.length);
  const training = new Set(trainingSentences.flat());
  assert.deepEqual(
    testSentences.flat().filter((sentence) => training.has(sentence)),
    [],
  );
});

test('toIds fills up to a multiple of 64 and stays within the vocabulary', () => {
  for (const text of ['', 'a', 'One, two!', 'x'.repeat(500)]) {
    const ids = toIds(text);
    assert.ok(ids.length > 0 && ids.length % 64 === 0);
    assert.ok(ids.every((id) => id >= 0n && id < BigInt(vocabularySize)));
  }
});

test('toIds takes no notice of case, punctuation and spacing', () => {
  assert.deepEqual(toIds('  ¿Qué?  TAL'), toIds('qué tal'));
  assert.notDeepEqual(toIds('qué tal'), toIds('que tal'));
});

test('the language model gets 95 % of the test sentences right', async () => {
  const session = await InferenceSession.create(languageModel(), { intraOpNumThreads: 1 });
  const guess = async (text: string): Promise<number> => {
    const ids = toIds(text);
    const { probabilities } = await session.run({ ids: new Tensor('int64', ids, [1, ids.length]) });
    assert.ok(probabilities?.data instanceof Float32Array);
    return probabilities.data.indexOf(Math.max(...probabilities.data));
  };
  let right = 0;
  for (const [language, sentences] of testSentences.entries()) {
    for (const sentence of sentences) right += (await guess(sentence)) === language ? 1 : 0;
  }
  await session.release();
  assert.ok(right >= 0.95 * testSentences.flat().length, `${right} right`);
});
