/** `tritonts serve --openai-port`: the front end for OpenAI's clients. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { ask } from '../../endpoints/http/harness.js';
import { telling } from '../../endpoints/openai/harness.js';
import { anyPorts, run } from './harness.js';

test('the front end has its flags, its secret and its template, and ends with the server', async (t) => {
  const folder = await temporaryFolder(t);
  const repository = await writeRepository(join(folder, 'models'), { telling });
  const template = join(folder, 'own.jinja');
  await writeFile(template, 'own: {{ messages[0].content }}');
  const served = run(
    t,
    repository,
    ...anyPorts,
    '--openai-port=0',
    '--openai-address=127.0.0.1',
    '--openai-restricted-api',
    ...['inference', 'authorization', 'Bearer key'],
    '--openai-restricted-api=metrics:admin=key',
    '--default-max-tokens=7',
    `--chat-template=${template}`,
  );
  const endpoint = await served.place('OpenAI Service');
  const body = { model: 'telling', messages: [{ role: 'user', content: 'x' }] };
  assert.equal((await ask(endpoint, '/v1/chat/completions', { body })).status, 401);
  assert.equal((await ask(endpoint, '/metrics')).status, 401);
  const headers = { authorization: 'Bearer key' };
  const { text } = await ask(endpoint, '/v1/chat/completions', { body, headers });
  const { choices } = JSON.parse(text) as { choices: [{ message: { content: string } }] };
  assert.deepEqual(JSON.parse(choices[0].message.content), {
    prompt: 'own: x',
    stream: false,
    sampling: { max_tokens: 7 },
  });
  served.child.kill('SIGTERM');
  assert.equal((await served.ended).code, 0);
});

test('a wrong file, and flags that do not apply', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { telling });
  const missing = run(t, repository, ...anyPorts, '--openai-port=0', '--chat-template=/no/such');
  const { code, stderr } = await missing.ended;
  assert.equal(code, 1);
  assert.match(stderr, /--chat-template: cannot read '\/no\/such'/);
  const unread = await run(t, repository, ...anyPorts, '--chat-template=/no/such').ended;
  assert.match(unread.stderr, /--chat-template has no effect without --openai-port or --allow-openai=true/);
  const refused = await run(t, repository, ...anyPorts, '--openai-port=0', '--tokenizer=x').ended;
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /--tokenizer is not supported/);
  const taken = await run(t, repository, ...anyPorts, '--openai-port=8123', '--http-port=8123').ended;
  assert.match(taken.stderr, /--http-port and --openai-port are both 8123/);
});
