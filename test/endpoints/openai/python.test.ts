/** A model in Python that generates text. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { script, serving, skip } from '../../python/harness.js';
import { statisticsAfter } from '../../support/harness.js';
import { clientOf, endpointOf, textTensors } from './harness.js';

const model = `
def execute(self, requests):
    import numpy as np
    for request in requests:
        prompt = array(request, "text_input")[0].decode()
        sampling = json.loads(array(request, "sampling_parameters")[0])
        sender = request.get_response_sender()
        for i in range(sampling["max_tokens"]):
            if request.is_cancelled():
                break
            sender.send(answer(np.array([f"{prompt}{i} ".encode()], dtype=object), "text_output"))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
`;

void suite('a model in Python', { skip }, () => {
  test('streams its text, and is told when the client leaves', async (t) => {
    const counter = script(model, textTensors);
    const server = await serving(t, {
      counter: {
        ...counter,
        files: { 'chat_template.jinja': '{{ messages[-1].content }}' },
      },
    });
    const client = clientOf(await endpointOf(t, server));
    const stream = await client.chat.completions.create({
      model: 'counter',
      messages: [{ role: 'user', content: 'é' }],
      max_completion_tokens: 3,
      stream: true,
    });
    const texts: unknown[] = [];
    for await (const { choices } of stream) texts.push(choices[0]?.delta.content);
    assert.deepEqual(texts, ['', 'é0 ', 'é1 ', 'é2 ', undefined]);
    const long = await client.completions.create({
      ...{ model: 'counter', prompt: 'x', stream: true, max_tokens: 1_000_000_000 },
    });
    for await (const { choices } of long) if (choices[0]?.text === 'x9 ') break;
    await statisticsAfter(server, 'counter', 2);
  });
});
