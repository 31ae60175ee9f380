/** Embeddings: rows of FP32 of any model, and the lists of Triton's backend for vLLM. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { executing, script } from '../../javascript/harness.js';
import { batchCounts, serve, statisticsAfter, type ConfigOptions } from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';
import { ask } from '../http/harness.js';
import { clientOf, embedding, endpointOf } from './harness.js';

const tensors: ConfigOptions = {
  maxBatchSize: 4,
  inputs: [{ name: 'words', datatype: 'BYTES', dims: [1] }],
  outputs: [{ name: 'vector', datatype: 'FP32', dims: [3] }],
};
const single = script(
  executing(
    `return requests.map(({ inputs }) => ({ vector: Float32Array.from(inputs.words.strings().flatMap(({ length }) => [length, 1 / 3, 1e-7])) }));`,
  ),
  { ...tensors, maxBatchSize: 0, batching: false },
);
const expected = (text: string): number[] => [text.length, 1 / 3, 1e-7].map(Math.fround);

void suite('embeddings', () => {
  test('of a text, and of several, in both encodings', async (t) => {
    const server = await serve(t, { embedding, single });
    const client = clientOf(await endpointOf(t, server));
    for (const model of ['embedding', 'single']) {
      const texts = ['a', 'bb', '', 'dddd', 'eeeee', 'ffffff', 'ggggggg', 'hhhhhhhh', 'iiiiiiiii'];
      // The client asks for base64 by itself, and decodes it.
      const decoded = await client.embeddings.create({ model, input: texts });
      assert.deepEqual(
        decoded.data.map(({ embedding: row, index, object }) => [[...row], index, object]),
        texts.map((text, i) => [expected(text), i, 'embedding']),
      );
      assert.equal(decoded.usage, null);
      const floats = await client.embeddings.create({ model, input: 'bb', encoding_format: 'float' });
      assert.deepEqual(floats.data[0]?.embedding, [2, 0.33333334, 1e-7]);
      assert.deepEqual(floats.data[0].embedding.map(Math.fround), expected('bb'));
    }
    // As many texts in a batch as the model takes.
    assert.ok((batchCounts(server, 'embedding')[4] ?? 0) >= 2);
  });

  test('dimensions, tokens and rows that do not fit', async (t) => {
    const odd = script(executing('return requests.map(() => ({ vector: Float32Array.of(1, 2, 3, 4) }));'), {
      ...tensors,
      maxBatchSize: 0,
      batching: false,
      outputs: [{ name: 'vector', datatype: 'FP32', dims: [2, 2] }],
    });
    const notFinite = script(
      executing('return requests.map(() => ({ vector: Float32Array.of(1, NaN, 3) }));'),
      {
        ...tensors,
        maxBatchSize: 0,
        batching: false,
      },
    );
    const endpoint = await endpointOf(t, await serve(t, { embedding, odd, notFinite }));
    const client = clientOf(endpoint);
    assert.equal(
      (await client.embeddings.create({ model: 'embedding', input: 'a', dimensions: 3 })).data.length,
      1,
    );
    for (const [body, status, text] of [
      [{ model: 'embedding', input: 'a', dimensions: 2 }, 400, /its own 3 dimensions but received 2/],
      [{ model: 'embedding', input: [1, 2] }, 400, /input as tokens is not supported/],
      [{ model: 'odd', input: 'a' }, 500, /expected a row for each of 1 texts but it is shape \[2,2\]/],
      [{ model: 'notFinite', input: 'a' }, 500, /NaN, which JSON cannot carry/],
      [{ model: 'notFinite', input: 'a', encoding_format: 'base64' }, 500, /NaN, which JSON cannot carry/],
    ] as const) {
      const answer = await ask(endpoint, '/v1/embeddings', { body });
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.text, text);
    }
  });

  test('a body keeps to the queue of its model, and ends with its first error', async (t) => {
    const slow = (most: number): RepositoryModel =>
      script(
        executing(`return requests.map(async ({ inputs }) => {
          const [text] = inputs.words.strings();
          if (text === 'bad') throw new Error('bad');
          await new Promise((resolve) => setTimeout(resolve, 20));
          return { vector: Float32Array.of(text.length, 0, 0) };
        });`),
        { ...tensors, maxBatchSize: 1, batching: `default_queue_policy { max_queue_size: ${most} }` },
      );
    const server = await serve(t, { few: slow(2), all: slow(0) });
    const client = clientOf(await endpointOf(t, server));
    const texts = Array.from({ length: 40 }, (_, i) => 'x'.repeat(i));
    const { data } = await client.embeddings.create({ model: 'few', input: texts });
    assert.deepEqual(
      data.map(({ embedding: row }) => row[0]),
      texts.map(({ length }) => length),
    );
    await assert.rejects(client.embeddings.create({ model: 'all', input: ['bad', ...texts] }), /bad/);
    // 32 are sent at once. Those that wait when the first one fails are cancelled.
    const { success } = (await statisticsAfter(server, 'all', 32)).inference_stats;
    assert.ok(success.count < 16, `${success.count} ran`);
  });

  test("in the form of Triton's backend for vLLM", async (t) => {
    const vllm = script(
      executing(`return requests.map(async function* ({ inputs }) {
        const { input, pooling_params: { dimensions: [length] = [2] } } = JSON.parse(inputs.embedding_request.strings()[0]);
        yield { text_output: [JSON.stringify(Array(length).fill(input.length / 4))], num_input_tokens: Uint32Array.of(input.length), num_output_tokens: Uint32Array.of(0) };
      });`),
      {
        maxBatchSize: 0,
        batching: false,
        inputs: [
          { name: 'embedding_request', datatype: 'BYTES', dims: [1] },
          { name: 'return_num_input_tokens', datatype: 'BOOL', dims: [1] },
        ],
        outputs: [
          { name: 'text_output', datatype: 'BYTES', dims: [1] },
          { name: 'num_input_tokens', datatype: 'UINT32', dims: [1] },
          { name: 'num_output_tokens', datatype: 'UINT32', dims: [1] },
        ],
        more: 'model_transaction_policy { decoupled: true }',
      },
    );
    const client = clientOf(await endpointOf(t, await serve(t, { vllm })));
    const { data, usage } = await client.embeddings.create({
      model: 'vllm',
      input: ['abc', 'a'],
      dimensions: 3,
    });
    assert.deepEqual(
      data.map(({ embedding: row }) => [...row]),
      [
        [0.75, 0.75, 0.75],
        [0.25, 0.25, 0.25],
      ],
    );
    assert.deepEqual(usage, { prompt_tokens: 4, total_tokens: 4 });
    assert.deepEqual(
      [...((await client.embeddings.create({ model: 'vllm', input: [7, 8] })).data[0]?.embedding ?? [])],
      [0.5, 0.5],
    );
  });
});
