/** Stop sequences, wherever the borders of the pieces are. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { StopFilter } from '../../../src/endpoints/openai/stop-filter.js';
import { serve, statisticsAfter } from '../../support/harness.js';
import { clientOf, endpointOf, generating, pieces, untoldTensors } from './harness.js';

/** What is left of a text that ends as soon as it has one of the stop sequences. */
function cut(text: string, stops: readonly string[]): string {
  for (let end = 0; end <= text.length; end++) {
    const so = text.slice(0, end);
    const longest = Math.max(0, ...stops.filter((stop) => so.endsWith(stop)).map((stop) => stop.length));
    if (longest > 0) return so.slice(0, end - longest);
  }
  return text;
}

void suite('stop sequences', () => {
  test('of random texts in random pieces', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 });
    const property = fc.property(
      fc.array(word, { maxLength: 12 }),
      fc.array(word, { maxLength: 3 }),
      (parts, stops) => {
        const filter = new StopFilter(stops);
        let text = '';
        for (const part of parts) {
          text += filter.add(part);
          // What was sent is never taken back.
          assert.ok(cut(parts.join(''), stops).startsWith(text));
        }
        text += filter.end();
        assert.equal(text, cut(parts.join(''), stops));
        assert.equal(filter.stopped, text !== parts.join(''));
      },
    );
    fc.assert(property, { numRuns: 5000 });
  });

  test('of a model that knows nothing of them: its request is cancelled', async (t) => {
    const endless = generating(`for (let i = 0; ; i++) yield { text_output: ['<' + i] };`, untoldTensors);
    const split = pieces('one EN', 'D two', ' three');
    const server = await serve(t, { endless, split });
    const client = clientOf(await endpointOf(t, server));
    const whole = await client.completions.create({ model: 'endless', prompt: 'x', stop: ['5<6', 'no'] });
    assert.deepEqual([whole.choices[0]?.text, whole.choices[0]?.finish_reason], ['<0<1<2<3<4<', 'stop']);
    const { inference_stats: counts } = await statisticsAfter(server, 'endless', 1);
    assert.deepEqual([counts.success.count, counts.fail.count], [0, 1]);
    const stream = await client.completions.create({
      model: 'split',
      prompt: 'x',
      stop: 'END',
      stream: true,
    });
    const texts: unknown[] = [];
    for await (const { choices } of stream) texts.push([choices[0]?.text, choices[0]?.finish_reason]);
    assert.deepEqual(texts, [
      ['one ', null],
      ['', 'stop'],
    ]);
    // The beginning of a stop sequence at the end of the text is text.
    const rest = await client.completions.create({ model: 'split', prompt: 'x', stop: 'three!' });
    assert.equal(rest.choices[0]?.text, 'one END two three');
  });

  test('a prompt that is echoed is not searched', async (t) => {
    const client = clientOf(await endpointOf(t, await serve(t, { split: pieces('a', 'b') })));
    const given = { model: 'split', prompt: 'END', stop: 'END', echo: true } as const;
    assert.equal((await client.completions.create(given)).choices[0]?.text, 'ENDab');
    const texts: unknown[] = [];
    for await (const { choices } of await client.completions.create({ ...given, stream: true }))
      texts.push(choices[0]?.text);
    assert.deepEqual(texts, ['END', 'a', 'b', '']);
  });
});
