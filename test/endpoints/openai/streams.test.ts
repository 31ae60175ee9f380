/** Streams: slow readers, the end of the endpoint, characters across borders, limits of tokens. */
// Own process: it measures the memory of the process.
// Long: it starts many processes.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { serve, statisticsAfter, until } from '../../support/harness.js';
import { ask, open } from '../http/harness.js';
import { clientOf, countedTensors, endpointOf, generating, textTensors } from './harness.js';

/** The text of a request for a stream. */
function streamRequest(model: string): string {
  const body = JSON.stringify({ model, prompt: 'x', stream: true });
  return `POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

void suite('streams', () => {
  test('a client that does not read holds the model back', async (t) => {
    const eager = generating(`for (let i = 0; i < 1e6; i++) yield { text_output: ['x'.repeat(10_000)] };`);
    const server = await serve(t, { eager });
    const endpoint = await endpointOf(t, server);
    const socket = open(t, endpoint);
    socket.write(streamRequest('eager'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    // All buffers on the way together are smaller than 256 MB, which it would have sent in this time.
    const held = (): number => process.memoryUsage().rss;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const before = held();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.ok(held() - before < 64e6, `${(held() - before) / 1e6} MB more`);
    const { inference_stats: counts } = server.model('eager').statistics();
    assert.equal(counts.success.count + counts.fail.count, 0, 'the request waits');
    // Other clients are served.
    assert.equal((await ask(endpoint, '/v1/models')).status, 200);
    socket.destroy();
    assert.equal((await statisticsAfter(server, 'eager', 1)).inference_stats.fail.count, 1);
  });

  test('close() lets a stream end, or cancels it at its limit', async (t) => {
    const steps = generating(
      `for (let i = 0; i < (prompt === 'x' ? 1e9 : 5); i++) { await new Promise((r) => setTimeout(r, 20)); yield { text_output: [' ' + i] }; }`,
    );
    const server = await serve(t, { steps });
    const first = await endpointOf(t, server);
    const short = await clientOf(first).completions.create({ model: 'steps', prompt: 'short', stream: true });
    const texts: unknown[] = [];
    let closed: Promise<void> | undefined;
    for await (const { choices } of short) {
      texts.push(choices[0]?.text);
      closed ??= first.close();
    }
    await closed;
    assert.deepEqual(texts, [' 0', ' 1', ' 2', ' 3', ' 4', '']);

    const second = await endpointOf(t, server);
    const long = await clientOf(second).completions.create({ model: 'steps', prompt: 'x', stream: true });
    const begin = performance.now();
    let ended: Promise<void> | undefined;
    await assert.rejects(async () => {
      for await (const _ of long) ended ??= second.close({ timeoutMs: 100 });
    });
    await ended;
    assert.ok(performance.now() - begin < 10_000);
    await until(() => server.model('steps').statistics().inference_stats.fail.count === 1);
  });

  test('a character whose bytes lie in two responses is whole', async (t) => {
    const bytes = generating(
      `for (const byte of Buffer.from('né€😀')) yield { text_output: [Buffer.from([byte])] };`,
    );
    const client = clientOf(await endpointOf(t, await serve(t, { bytes })));
    const texts: unknown[] = [];
    for await (const { choices } of await client.completions.create({
      model: 'bytes',
      prompt: 'x',
      stream: true,
    }))
      texts.push(choices[0]?.text);
    assert.deepEqual(texts, ['n', 'é', '€', '😀', '']);
  });

  test('a stream without counts has a chunk with no usage', async (t) => {
    const untold = generating(`yield { text_output: ['\uFEFFa'] };`);
    const client = clientOf(await endpointOf(t, await serve(t, { untold })));
    const stream = await client.completions.create({
      ...{ model: 'untold', prompt: 'x', stream: true, stream_options: { include_usage: true } },
    });
    const chunks: unknown[] = [];
    for await (const { choices, usage } of stream) chunks.push([choices.map(({ text }) => text), usage]);
    assert.deepEqual(chunks, [
      [['\uFEFFa'], null],
      [[''], null],
      [[], null],
    ]);
  });

  test('a model that goes on after the limit of tokens is stopped', async (t) => {
    const counts = '{ num_input_tokens: Uint32Array.of(1), num_output_tokens: Uint32Array.of(2) }';
    const endless = generating(`for (;;) yield { text_output: ['ab'], ...${counts} };`, {
      ...countedTensors,
      inputs: textTensors.inputs.slice(0, 1),
    });
    const server = await serve(t, { endless });
    const client = clientOf(await endpointOf(t, server));
    const { choices, usage } = await client.completions.create({
      model: 'endless',
      prompt: 'x',
      max_tokens: 5,
    });
    assert.deepEqual([choices[0]?.text, choices[0]?.finish_reason], ['ababab', 'length']);
    // The response after them is neither sent nor counted.
    assert.deepEqual(usage, { prompt_tokens: 1, completion_tokens: 6, total_tokens: 7 });
    const none = await client.completions.create({ model: 'endless', prompt: 'x', max_tokens: 0 });
    assert.deepEqual([none.choices[0]?.text, none.choices[0]?.finish_reason], ['', 'length']);
    assert.deepEqual(none.usage, { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 });
    await statisticsAfter(server, 'endless', 2);
  });

  test('a reason that the model gives is passed on', async (t) => {
    const reasoned = generating(
      `yield { text_output: ['a'], finish_reason: ['None'] }; yield { text_output: ['b'], finish_reason: ['length'] };`,
      {
        ...textTensors,
        outputs: [...textTensors.outputs, { name: 'finish_reason', datatype: 'BYTES', dims: [1] }],
      },
    );
    const client = clientOf(await endpointOf(t, await serve(t, { reasoned })));
    const whole = await client.completions.create({ model: 'reasoned', prompt: 'x' });
    assert.deepEqual([whole.choices[0]?.text, whole.choices[0]?.finish_reason], ['ab', 'length']);
  });

  test('a model that streams although it was told not to', async (t) => {
    const stubborn = generating(
      `yield { text_output: ['a'] }; yield { text_output: ['b'] }; yield { text_output: ['c'] };`,
    );
    const untold = generating(`for (const piece of ['a', 'b', 'c']) yield { text_output: [piece] };`, {
      ...textTensors,
      inputs: textTensors.inputs.slice(0, 1),
    });
    const endpoint = await endpointOf(t, await serve(t, { stubborn, untold }));
    const refused = await ask(endpoint, '/v1/completions', { body: { model: 'stubborn', prompt: 'x' } });
    assert.equal(refused.status, 500);
    assert.match(refused.text, /Unexpected number of responses: 3, expected 1/);
    const whole = await clientOf(endpoint).completions.create({ model: 'untold', prompt: 'x' });
    assert.equal(whole.choices[0]?.text, 'abc');
  });

  test('responses that are not one text are an error of the model', async (t) => {
    const two = generating(`yield { text_output: ['a', 'b'] };`, {
      ...textTensors,
      outputs: [{ name: 'text_output', datatype: 'BYTES', dims: [-1] }],
    });
    const endpoint = await endpointOf(t, await serve(t, { two }));
    const answer = await ask(endpoint, '/v1/completions', { body: { model: 'two', prompt: 'x' } });
    assert.equal(answer.status, 500);
    assert.match(answer.text, /expected to find 1 string in a response, found 2 instead/);
  });
});
