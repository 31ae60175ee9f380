/** Requests that are refused: with which status, and with which text. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { OpenAIEndpoint } from '../../../src/endpoints/openai/serve.js';
import { identity, serve } from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';
import { ask, type Answer, type Ask } from '../http/harness.js';
import { endpointOf, generating, telling, textTensors } from './harness.js';

/** The text of an error's answer, which has it in Triton's place and in OpenAI's. */
function errorOf({ status, text }: Answer, expected: number): string {
  assert.equal(status, expected, text);
  const { detail, error } = JSON.parse(text) as { detail: string; error: { message: string; param: null } };
  assert.equal(error.message, detail);
  assert.equal(error.param, null);
  return detail;
}

const chat = (rest: object): object => ({
  model: 'telling',
  messages: [{ role: 'user', content: 'x' }],
  ...rest,
});
const completion = (rest: object): object => ({ model: 'telling', prompt: 'x', ...rest });
const embedding = (rest: object): object => ({ model: 'telling', input: 'x', ...rest });
const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }];
const calling = (...all: readonly string[]): object => ({
  messages: [
    {
      role: 'assistant',
      tool_calls: all.map((text) => ({
        id: 'a',
        type: 'function',
        function: { name: 'f', arguments: text },
      })),
    },
  ],
});
const deep = '['.repeat(101) + ']'.repeat(101);
const wide = (elements: number): string => JSON.stringify(Array(elements).fill(0));
const chats = '/v1/chat/completions';
const completions = '/v1/completions';
const embeddings = '/v1/embeddings';

const cases: readonly (readonly [path: string, body: object | string, status: number, text: RegExp])[] = [
  [completions, '{', 422, /JSON/],
  [completions, '[]', 422, /an object for 'request'/],
  [completions, '', 422, /JSON/],
  [completions, '['.repeat(10_000), 422, /nest|deep/],
  [completions, {}, 422, /a string for 'prompt' but received nothing/],
  [completions, completion({ model: undefined }), 422, /a string for 'model' but received nothing/],
  [completions, completion({ stream: 1 }), 422, /true or false for 'stream' but received 1/],
  [completions, completion({ temperature: 2.1 }), 422, /a number from 0 to 2 for 'temperature'/],
  [completions, completion({ max_tokens: -1 }), 422, /an integer from 0 to 2147483647 for 'max_tokens'/],
  [completions, completion({ max_tokens: 1.5 }), 422, /an integer .* for 'max_tokens' but received 1.5/],
  [completions, completion({ n: 0 }), 422, /'n'/],
  [completions, '{"model":"telling","prompt":"x","seed":9007199254740993}', 422, /an integer .* for 'seed'/],
  [completions, completion({ stop: [''] }), 422, /1 to 256 characters for 'stop\[0\]' but received 0/],
  [completions, completion({ stop: Array(33).fill('a') }), 422, /0 to 32 elements for 'stop'/],
  [completions, completion({ stop: 5 }), 422, /a string or an array of strings for 'stop'/],
  [completions, completion({ stream_options: { usage: true } }), 422, /unknown field 'usage'/],
  [completions, completion({ messages: [] }), 422, /unknown field 'messages'/],
  [completions, '{"model":"telling","prompt":"x","__proto__":{}}', 422, /unknown field '__proto__'/],
  [completions, '{"model":"telling","prompt":"x","constructor":1}', 422, /unknown field 'constructor'/],
  [completions, completion({ n: 2 }), 400, /^Received n=2, but only single choice/],
  [completions, completion({ best_of: 2 }), 400, /^Received best_of=2/],
  [completions, completion({ logit_bias: {} }), 400, /logit bias/],
  [completions, completion({ suffix: '!' }), 400, /suffix/],
  [completions, completion({ logprobs: 1 }), 400, /logprobs/],
  [completions, completion({ prompt: '' }), 400, /prompt must be non-empty/],
  [completions, completion({ prompt: ['x'] }), 400, /only single string input is supported/],
  [completions, completion({ stream_options: {} }), 400, /`stream_options` can only be used/],
  [completions, completion({ model: 'no' }), 400, /^Unknown model: no$/],
  [completions, completion({ model: 'numbers' }), 400, /model 'numbers' does not generate text/],
  [chats, chat({ messages: [] }), 422, /1 to 4096 elements for 'messages' but received 0/],
  [chats, chat({ messages: [{ role: 'boss', content: 'x' }] }), 422, /'messages\[0\].role'/],
  [chats, chat({ messages: [{ role: 'user' }] }), 422, /'messages\[0\].content'/],
  [chats, chat({ messages: [{ role: 'user', content: [{ type: 'text' }] }] }), 422, /content\[0\].text/],
  [
    chats,
    chat({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://x' } }] }] }),
    400,
    /only text message is supported, but got image_url/,
  ],
  [chats, chat({ prompt: 'x' }), 422, /unknown field 'prompt'/],
  [chats, chat({ tools }), 400, /calls of tools are not supported/],
  [chats, chat({ tools, tool_choice: 'auto' }), 400, /calls of tools are not supported/],
  [chats, chat({ tool_choice: 'auto' }), 400, /calls of tools are not supported/],
  [chats, chat({ tool_choice: 'required' }), 400, /"required" tool choice requires tools/],
  [
    chats,
    chat({ tool_choice: { type: 'function', function: { name: 'f' } } }),
    400,
    /Named tool choice requires tools/,
  ],
  [chats, chat({ tool_choice: 'perhaps' }), 422, /'tool_choice'/],
  [chats, chat({ logprobs: true }), 400, /logprobs/],
  [chats, chat({ response_format: { type: 'json_object' } }), 400, /response_format/],
  [chats, chat({ functions: [] }), 400, /functions/],
  [chats, chat({ model: 'plain' }), 400, /model 'plain' has no chat template/],
  [chats, chat(calling('{')), 422, /JSON for 'messages\[0\].tool_calls\[0\].function.arguments'/],
  [chats, chat(calling(deep)), 422, /arguments': the JSON is nested deeper than the limit of 100/],
  [chats, chat(calling(wide(70_000))), 422, /more values than the limit of 65536/],
  [chats, chat(calling(wide(40_000), wide(40_000))), 422, /more values than the limit of 65536/],
  [
    chats,
    chat({
      tool_choice: 'none',
      tools: [{ type: 'function', function: { name: 'f', parameters: { x: Array(70_000).fill(0) } } }],
    }),
    422,
    /more values than the limit of 65536/,
  ],
  [embeddings, embedding({ input: [] }), 422, /1 to 2048 elements for 'input'/],
  [embeddings, embedding({ encoding_format: 'int8' }), 422, /one of 'float', 'base64'/],
  [embeddings, embedding({ dimensions: 0 }), 422, /'dimensions'/],
  [embeddings, embedding({ input: [[1, 'a']] }), 422, /'input\[0\]\[1\]'/],
  [embeddings, embedding({}), 400, /model 'telling' makes no embeddings/],
  [embeddings, embedding({ model: 'no' }), 400, /^Unknown model: no$/],
];

void suite('refused requests', () => {
  test('of each call', async (t) => {
    const plain = { ...telling, files: {} };
    const endpoint = await endpointOf(t, await serve(t, { telling, plain, numbers: identity() }));
    for (const [path, body, status, text] of cases)
      assert.match(errorOf(await ask(endpoint, path, { body }), status), text, JSON.stringify(body));
  });

  test('tools are given to the template if none is to be called', async (t) => {
    const seen = {
      ...telling,
      files: { 'chat_template.jinja': '{{ tools | length }} {{ tools[0].function.name }}' },
    };
    const endpoint = await endpointOf(t, await serve(t, { seen }));
    const body = chat({ model: 'seen', tools, tool_choice: 'none' });
    const { choices } = JSON.parse((await ask(endpoint, chats, { body })).text) as {
      choices: [{ message: { content: string } }];
    };
    assert.equal((JSON.parse(choices[0].message.content) as { prompt: string }).prompt, '1 f');
  });
});

void suite('inputs by shape', () => {
  test('stop sequences do not become a batch, and are left out where they do not fit', async (t) => {
    const words = { name: 'stop_words', datatype: 'BYTES', optional: true } as const;
    const model = (dims: readonly number[]): RepositoryModel =>
      generating(
        `const { stop_words: words } = inputs;
         yield { text_output: [words === undefined ? 'none!' : \`\${words.shape} \${words.strings()}!\`] };`,
        { ...textTensors, maxBatchSize: 4, inputs: [...textTensors.inputs, { ...words, dims }] },
      );
    const endpoint = await endpointOf(t, await serve(t, { one: model([1]), any: model([-1]) }));
    for (const [name, stop, expected] of [
      ['one', ['!'], '1,1 !'],
      ['one', ['!', '?'], 'none'],
      ['any', ['!', '?'], '1,2 '],
    ] as const) {
      const { status, text } = await ask(endpoint, completions, { body: { model: name, prompt: 'x', stop } });
      assert.equal(status, 200, text);
      const { choices } = JSON.parse(text) as { choices: [{ text: string }] };
      assert.equal(choices[0].text, expected.replace('!', ''));
    }
  });
});

const send = (endpoint: OpenAIEndpoint, path: string, given: Ask = {}): Promise<Answer> =>
  ask(endpoint, path, given);

void suite('other paths', () => {
  test('unknown paths and methods', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { telling }));
    assert.equal(errorOf(await send(endpoint, '/v1/edits'), 404), 'Not Found');
    assert.equal(errorOf(await send(endpoint, '/v2/models/telling'), 404), 'Not Found');
    assert.equal(errorOf(await send(endpoint, '/v1/models/%ff'), 404), 'Not Found');
    assert.equal(errorOf(await send(endpoint, '/v1/models/nothing'), 404), 'Unknown model: nothing');
    assert.equal(errorOf(await send(endpoint, completions), 405), 'Method Not Allowed');
    assert.equal(errorOf(await send(endpoint, '/v1/models', { body: {} }), 405), 'Method Not Allowed');
  });

  test('bodies have a limit, and may be compressed', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { telling }), { maxRequestBytes: 1000 });
    const long = completion({ prompt: 'x'.repeat(1000) });
    assert.match(errorOf(await send(endpoint, completions, { body: long }), 413), /limit of 1000 bytes/);
    const chunked = { body: long, headers: { 'Transfer-Encoding': 'chunked' } };
    assert.match(errorOf(await send(endpoint, completions, chunked), 413), /limit of 1000 bytes/);
    const headers = { 'Content-Encoding': 'gzip' };
    const zipped = (body: object): Ask => ({ body: gzipSync(JSON.stringify(body)), headers });
    assert.equal((await send(endpoint, completions, zipped(completion({})))).status, 200);
    assert.match(errorOf(await send(endpoint, completions, zipped(long)), 413), /when decompressed/);
    const other = { body: '{}', headers: { 'Content-Encoding': 'br' } };
    assert.match(errorOf(await send(endpoint, completions, other), 415), /compression/);
    // The prompt of a chat may be longer than its body.
    const doubling =
      '{% set ns = namespace(x="abcd") %}{% for i in range(8) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}';
    const own = await endpointOf(t, await serve(t, { telling }), {
      maxRequestBytes: 1000,
      chatTemplate: doubling,
    });
    assert.match(errorOf(await send(own, chats, { body: chat({}) }), 400), /more than 1000 characters/);
  });

  test('groups of calls need their secret', async (t) => {
    const server = await serve(t, { telling });
    const endpoint = await endpointOf(t, server, {
      restricted: [
        { protocols: ['inference'], header: 'Authorization', value: 'Bearer s3cret' },
        { protocols: ['model-repository', 'metrics', 'health'], header: 'admin', value: 'key' },
      ],
    });
    for (const [path, given, header] of [
      [completions, { body: completion({}) }, 'authorization'],
      [chats, { body: chat({}) }, 'authorization'],
      [embeddings, { body: embedding({}) }, 'authorization'],
      ['/v1/models', {}, 'admin'],
      ['/v1/models/telling', {}, 'admin'],
      ['/v1/models/telling/unload', { method: 'POST' }, 'admin'],
      ['/metrics', {}, 'admin'],
      ['/health/ready', {}, 'admin'],
    ] as const) {
      for (const headers of [{}, { [header]: 'wrong' }]) {
        const { status, text } = await send(endpoint, path, { ...given, headers });
        assert.equal(status, 401, path);
        const message = `This API is restricted, expecting header '${header}' with valid value`;
        assert.deepEqual(JSON.parse(text), {
          error: { message, type: 'authentication_error', code: 'invalid_auth' },
        });
      }
    }
    const keyed = { body: completion({}), headers: { authorization: 'Bearer s3cret' } };
    assert.equal((await send(endpoint, completions, keyed)).status, 200);
    assert.equal((await send(endpoint, '/v1/models', { headers: { admin: 'key' } })).status, 200);
  });

  test('metrics, readiness, and control of models', async (t) => {
    const server = await serve(t, { telling }, { modelControlMode: 'explicit' });
    const endpoint = await endpointOf(t, server);
    const post = { method: 'POST' };
    assert.equal((await send(endpoint, '/health/ready')).status, 200);
    assert.deepEqual(JSON.parse((await send(endpoint, '/v1/models')).text), { object: 'list', data: [] });
    const loaded = await send(endpoint, '/v1/models/telling/load', post);
    assert.equal((JSON.parse(loaded.text) as { id: string }).id, 'telling');
    assert.equal((await send(endpoint, completions, { body: completion({}) })).status, 200);
    const metrics = await send(endpoint, '/metrics');
    assert.match(metrics.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
    assert.match(metrics.text, /nv_inference_request_success\{model="telling",version="1"\} 1\n/);
    const unloaded = await send(endpoint, '/v1/models/telling/unload', post);
    assert.deepEqual(JSON.parse(unloaded.text), { status: 'success', model: 'telling' });
    errorOf(await send(endpoint, completions, { body: completion({}) }), 400);
    errorOf(await send(endpoint, '/v1/models/nothing/load', post), 400);
    const fixed = await endpointOf(t, await serve(t, { telling }));
    assert.match(errorOf(await send(fixed, '/v1/models/telling/load', post), 400), /explicit model load/);
    await server.close();
    assert.equal((await send(endpoint, '/health/ready')).status, 503);
    errorOf(await send(endpoint, completions, { body: completion({}) }), 503);
  });
});
