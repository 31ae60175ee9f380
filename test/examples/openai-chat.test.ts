/** The example `examples/openai-chat`: texts that OpenAI's client has written, letter by letter. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { mostAtATime, serveWriters } from '../../examples/openai-chat/serve.js';
import { until } from '../support/harness.js';

test('both models write the same text, and a text that looks like the pages', async (t) => {
  const { server, endpoint } = await serveWriters(0);
  t.after(async () => {
    await endpoint.close({ timeoutMs: 0 });
    await server.close({ timeoutMs: 0 });
  });
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${endpoint.address.port}/v1`, apiKey: 'none' });
  const texts = new Set<string>();
  for (const model of ['writer', 'iterative-writer']) {
    const given = { model, max_tokens: 200, seed: 3, temperature: 0.5 };
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: '# Batching' }];
    const whole = await client.chat.completions.create({ ...given, messages });
    const text = whole.choices[0]?.message.content ?? '';
    assert.deepEqual(whole.usage, { prompt_tokens: 12, completion_tokens: 200, total_tokens: 212 });
    assert.equal(whole.choices[0]?.finish_reason, 'length');
    let streamed = '';
    const stream = await client.chat.completions.create({ ...given, messages, stream: true });
    for await (const { choices } of stream) streamed += choices[0]?.delta.content ?? '';
    assert.equal(streamed, text);
    texts.add(text);
    // A stop sequence ends it, and the request in the engine.
    const word = text.match(/\S+/g)?.[5] ?? '';
    const stopped = await client.chat.completions.create({ ...given, messages, stream: true, stop: word });
    let before = '';
    for await (const { choices } of stopped) before += choices[0]?.delta.content ?? '';
    assert.equal(before, text.slice(0, text.indexOf(word)));
  }
  assert.equal(texts.size, 1);
  const [text = ''] = texts;
  assert.ok(
    text.split(/\s+/).some((word) => ['the', 'a', 'of', 'is', 'and'].includes(word)),
    text,
  );
});

test('an iterative model writes several texts in one batch', async (t) => {
  const { server, endpoint } = await serveWriters(0);
  t.after(async () => {
    await endpoint.close({ timeoutMs: 0 });
    await server.close({ timeoutMs: 0 });
  });
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${endpoint.address.port}/v1`, apiKey: 'none' });
  const asked = Array.from({ length: mostAtATime + 4 }, (_, seed) =>
    client.completions.create({ model: 'iterative-writer', prompt: '## ', max_tokens: 50, seed }),
  );
  const texts = (await Promise.all(asked)).map(({ choices }) => choices[0]?.text ?? '');
  assert.ok(texts.every((text) => text.length === 50));
  assert.ok(new Set(texts).size > 1);
  assert.ok(server.explain('letters').batches.some(({ size }) => size > 1));
  await until(() => server.explain('iterative-writer').sequences?.live === 0);
});
