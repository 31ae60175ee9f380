/** OpenAI's own client, in JavaScript. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import OpenAI, { type APIError } from 'openai';
import { serve, statisticsAfter, until, ensemble } from '../../support/harness.js';
import {
  clientOf,
  counting,
  endpointOf,
  generating,
  pieces,
  telling,
  textTensors,
  untoldTensors,
} from './harness.js';

void suite("OpenAI's client", () => {
  test('models are listed', async (t) => {
    const client = clientOf(await endpointOf(t, await serve(t, { counting, telling })));
    const models = (await client.models.list()).data;
    assert.deepEqual(
      models.map(({ id, object, owned_by: owner }) => [id, object, owner]),
      [
        ['counting', 'model', 'Triton Inference Server'],
        ['telling', 'model', 'Triton Inference Server'],
      ],
    );
    assert.ok(Math.abs((models[0]?.created ?? 0) - Date.now() / 1000) < 60);
    assert.equal((await client.models.retrieve('telling')).id, 'telling');
    await assert.rejects(client.models.retrieve('nothing'), (error) => {
      assert.ok(error instanceof OpenAI.NotFoundError);
      assert.match(error.message, /Unknown model: nothing/);
      return true;
    });
  });

  test('a completion in one answer, and as a stream', async (t) => {
    const client = clientOf(await endpointOf(t, await serve(t, { counting })));
    const whole = await client.completions.create({ model: 'counting', prompt: 'a b c' });
    assert.match(whole.id, /^cmpl-[0-9a-f-]{36}$/);
    assert.equal(whole.object, 'text_completion');
    // 16 is the default.
    assert.equal(whole.choices[0]?.text, Array.from({ length: 16 }, (_, i) => ` w${i}`).join(''));
    assert.equal(whole.choices[0].finish_reason, 'length');
    assert.deepEqual(whole.usage, { prompt_tokens: 3, completion_tokens: 16, total_tokens: 19 });

    const stream = await client.completions.create({
      ...{ model: 'counting', prompt: 'a b c', stream: true, max_tokens: 4 },
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.Completion[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    assert.deepEqual(
      chunks.map(({ choices }) => choices.map(({ text, finish_reason: reason }) => [text, reason])),
      [[[' w0', null]], [[' w1', null]], [[' w2', null]], [[' w3', null]], [['', 'length']], []],
    );
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
    assert.deepEqual(
      chunks.map(({ usage }) => usage),
      [null, null, null, null, null, { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }],
    );
  });

  test('a chat in one answer, and as a stream', async (t) => {
    const client = clientOf(await endpointOf(t, await serve(t, { telling })));
    const messages = [
      { role: 'system', content: 'be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hé' },
          { type: 'text', text: ' you' },
        ],
      },
    ] as const;
    const given = { model: 'telling', messages: [...messages] as OpenAI.ChatCompletionMessageParam[] };
    const sampling = { temperature: 0.5, seed: 7, stop: '\n' };
    const whole = await client.chat.completions.create({ ...given, ...sampling });
    assert.equal(whole.object, 'chat.completion');
    assert.equal(whole.choices[0]?.message.role, 'assistant');
    assert.equal(whole.choices[0].finish_reason, 'stop');
    assert.deepEqual(JSON.parse(whole.choices[0].message.content ?? ''), {
      prompt: 'system:be brief;user:hé you;assistant:',
      stream: false,
      sampling: { seed: 7, stop: ['\n'], temperature: 0.5, max_tokens: 16 },
    });

    const stream = await client.chat.completions.create({ ...given, stream: true, max_completion_tokens: 5 });
    const deltas: object[] = [];
    const reasons: unknown[] = [];
    for await (const { choices } of stream) {
      deltas.push(choices[0]?.delta ?? {});
      reasons.push(choices[0]?.finish_reason);
    }
    const content = JSON.stringify({
      prompt: 'system:be brief;user:hé you;assistant:',
      stream: true,
      sampling: { max_tokens: 5 },
    });
    assert.deepEqual(deltas, [{ role: 'assistant', content: '' }, { content }, {}]);
    assert.deepEqual(reasons, [null, null, 'stop']);
    // The client's helper assembles the same.
    const helped = client.chat.completions.stream({ ...given, max_completion_tokens: 5 });
    assert.equal((await helped.finalMessage()).content, content);
  });

  test('the usage is null if the model does not tell', async (t) => {
    const client = clientOf(await endpointOf(t, await serve(t, { plain: pieces('a', 'b') })));
    const given = { model: 'plain', prompt: 'x' };
    const chunks: unknown[] = [];
    const stream = await client.completions.create({
      ...given,
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const { choices } of stream) chunks.push(choices[0]?.text);
    // The chunk of the usage has no choices.
    assert.deepEqual(chunks, ['a', 'b', '', undefined]);
    const whole = await client.completions.create({ ...given });
    assert.deepEqual([whole.choices[0]?.text, whole.usage], ['ab', null]);
  });

  test('errors have their class, code and type', async (t) => {
    const broken = generating(`throw new Error('out of order');`);
    const late = generating(`yield { text_output: ['a'] }; throw new Error('out of order');`);
    const server = await serve(t, { telling, broken, late });
    const client = clientOf(await endpointOf(t, server));
    const complete = (given: object): Promise<unknown> =>
      client.completions.create({ model: 'telling', prompt: 'x', ...given });
    const failing = async (
      promise: Promise<unknown>,
      kind: abstract new (...args: never[]) => APIError,
      expected: RegExp,
      type: string,
    ): Promise<void> => {
      await assert.rejects(promise, (error) => {
        assert.ok(error instanceof kind, String(error));
        assert.match(error.message, expected);
        assert.equal(error.type, type);
        return true;
      });
    };
    await failing(
      complete({ model: 'no' }),
      OpenAI.BadRequestError,
      /Unknown model: no$/,
      'invalid_request_error',
    );
    await failing(complete({ n: 2 }), OpenAI.BadRequestError, /Received n=2/, 'invalid_request_error');
    await failing(
      complete({ temprature: 2 }),
      OpenAI.UnprocessableEntityError,
      /unknown field 'temprature'.*temperature/,
      'invalid_request_error',
    );
    await failing(complete({ model: 'broken' }), OpenAI.InternalServerError, /out of order/, 'server_error');
    // A stream that fails before its first piece has the status, and one that fails later has an event.
    await failing(
      complete({ model: 'broken', stream: true }),
      OpenAI.InternalServerError,
      /out of order/,
      'server_error',
    );
    const stream = await client.completions.create({ model: 'late', prompt: 'x', stream: true });
    const texts: unknown[] = [];
    const read = (async () => {
      for await (const { choices } of stream) texts.push(choices[0]?.text);
    })();
    await failing(read, OpenAI.APIError, /out of order/, 'server_error');
    assert.deepEqual(texts, ['a']);
  });

  test('a client that leaves cancels its request in the engine', async (t) => {
    const endless = generating(`for (;;) yield { text_output: ['a'] };`, untoldTensors);
    const server = await serve(t, { endless });
    const client = clientOf(await endpointOf(t, server));
    const stream = await client.completions.create({ model: 'endless', prompt: 'x', stream: true });
    let count = 0;
    for await (const _ of stream) if (++count === 10) break; // The client closes the connection.
    const { inference_stats: counts } = await statisticsAfter(server, 'endless', 1);
    assert.deepEqual([counts.success.count, counts.fail.count], [0, 1]);

    const signal = new AbortController();
    const whole = client.completions.create({ model: 'endless', prompt: 'x' }, { signal: signal.signal });
    setTimeout(() => {
      signal.abort();
    }, 50);
    await assert.rejects(whole, OpenAI.APIUserAbortError);
    await until(() => server.model('endless').statistics().inference_stats.fail.count === 2);
  });

  test('an ensemble generates text', async (t) => {
    const step = generating(
      `for (const word of prompt.split(' ')) yield { text_output: [word.toUpperCase()] };`,
    );
    const { maxBatchSize, inputs, outputs } = textTensors;
    const around = ensemble(
      [
        {
          model: 'step',
          from: { text_input: 'text_input', stream: 'stream', sampling_parameters: 'sampling_parameters' },
          to: { text_output: 'text_output' },
        },
      ],
      { maxBatchSize, inputs, outputs, more: textTensors.more },
    );
    const files = { 'chat_template.jinja': '{{ messages[0].content }}' };
    const server = await serve(t, { step, around: { ...around, files } });
    const client = clientOf(await endpointOf(t, server));
    const stream = await client.chat.completions.create({
      model: 'around',
      messages: [{ role: 'user', content: 'a b' }],
      stream: true,
    });
    const texts: unknown[] = [];
    for await (const { choices } of stream) texts.push(choices[0]?.delta.content);
    assert.deepEqual(texts, ['', 'A', 'B', undefined]);
  });
});
