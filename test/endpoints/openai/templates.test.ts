/** Chat templates: where they come from, and what hostile ones can do. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ownFile } from '../../../src/addon/own-file.js';
import type { RenderJob } from '../../../src/endpoints/openai/template-process.js';
import { Templates } from '../../../src/endpoints/openai/templates.js';
import { rejection, serve, until } from '../../support/harness.js';
import type { Context } from '../../support/repository.js';
import { ask } from '../http/harness.js';
import { endpointOf, telling } from './harness.js';

/** The prompt that a model of these files, beside its version and in it, is asked with. */
async function promptWith(
  t: Context,
  files: Readonly<Record<string, string>>,
  inVersion: Readonly<Record<string, string>> = {},
  rest: object = {},
): Promise<string> {
  const own = telling.versions?.['1'];
  const model = { ...telling, files, versions: { '1': { ...(own as object), ...inVersion } } };
  const endpoint = await endpointOf(t, await serve(t, { model }));
  const messages = [{ role: 'user', content: 'Hi there!' }];
  const { status, text } = await ask(endpoint, '/v1/chat/completions', {
    body: { model: 'model', messages, ...rest },
  });
  if (status !== 200) return `${status} ${(JSON.parse(text) as { detail: string }).detail}`;
  const { choices } = JSON.parse(text) as { choices: [{ message: { content: string } }] };
  return (JSON.parse(choices[0].message.content) as { prompt: string }).prompt;
}

/** A tokenizer's configuration. */
const tokenizer = (template: unknown, rest: object = {}): Record<string, string> => ({
  'tokenizer_config.json': JSON.stringify({ chat_template: template, ...rest }),
});

/** The template of ChatML, as many models have it. */
const chatMl =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
/** The template of Mistral's first models. */
const mistral =
  "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}";

/** The numbers of this process's children that render templates. */
async function templateProcesses(): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    try {
      const [command, stat] = await Promise.all(
        ['cmdline', 'stat'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')),
      );
      // Behind the name, which may have spaces: the state, and the parent.
      const parent = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
      if (command?.includes('template-process.js') === true && parent === String(process.pid))
        found.push(pid);
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

void suite('chat templates', () => {
  test('known ones give the prompts that their authors publish', async (t) => {
    assert.equal(
      await promptWith(t, tokenizer(chatMl)),
      '<|im_start|>user\nHi there!<|im_end|>\n<|im_start|>assistant\n',
    );
    const messages = [
      { role: 'user', content: 'Hello, how are you?' },
      { role: 'assistant', content: "I'm doing great. How can I help you today?" },
      { role: 'user', content: "I'd like to show off how chat templating works!" },
    ];
    const tokens = { bos_token: '<s>', eos_token: { content: '</s>', lstrip: false } };
    assert.equal(
      await promptWith(t, tokenizer(mistral, tokens), {}, { messages }),
      "<s>[INST] Hello, how are you? [/INST]I'm doing great. How can I help you today?</s>[INST] I'd like to show off how chat templating works! [/INST]",
    );
    const wrong = { messages: [{ role: 'system', content: 'x' }] };
    assert.equal(
      await promptWith(t, tokenizer(mistral, tokens), {}, wrong),
      '400 the chat template cannot be rendered for these messages: Conversation roles must alternate user/assistant/user/assistant/...',
    );
  });

  test('they come from the version, then from the model; chat_template.jinja goes first', async (t) => {
    const jinja = { 'chat_template.jinja': 'J{{ bos_token }}' };
    assert.equal(await promptWith(t, { ...jinja, ...tokenizer('T', { bos_token: '!' }) }), 'J!');
    assert.equal(await promptWith(t, jinja, tokenizer('V')), 'V');
    assert.equal(await promptWith(t, tokenizer('M'), tokenizer(null, { bos_token: '!' })), 'M');
    const named = [
      { name: 'default', template: 'D' },
      { name: 'tool_use', template: 'U' },
    ];
    assert.equal(await promptWith(t, tokenizer(named)), 'D');
    const tools = [{ type: 'function', function: { name: 'f' } }];
    assert.equal(await promptWith(t, tokenizer(named), {}, { tools, tool_choice: 'none' }), 'U');
  });

  test('a file that cannot be used does not fail the load, and chats tell why', async (t) => {
    for (const [files, expected] of [
      [{ 'tokenizer_config.json': '{' }, /tokenizer_config.json cannot be used: .*JSON/],
      [{ 'tokenizer_config.json': '[]' }, /it is not an object/],
      [tokenizer(5), /chat_template is neither a string nor an array/],
      [tokenizer([]), /no template named 'default'/],
      [{ 'chat_template.jinja': 'x'.repeat((1 << 20) + 1) }, /at most 1048576 are read/],
      [{ 'chat_template.jinja/x': '' }, /it is a folder/],
      [{ 'chat_template.jinja': '{% if %}' }, /the chat template cannot be parsed/],
    ] as const) {
      assert.match(await promptWith(t, files), /^500 /);
      assert.match(await promptWith(t, files), expected);
    }
  });

  test('hostile ones take a limited time and memory, and the next one is rendered', async (t) => {
    const templates = new Templates(1 << 20);
    t.after(() => {
      templates.close();
    });
    const render = (template: string, context = {}): Promise<string> =>
      templates.render({ model: 'm', template, context }, () => false);
    const double = (times: number, then: string): string =>
      `{% set ns = namespace(x="a") %}{% for i in range(${times}) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x${then} }}`;
    for (const [template, code, expected] of [
      [
        '{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}',
        'INTERNAL',
        /2000 ms/,
      ],
      [double(40, ''), 'INVALID_ARG', /Invalid string length/],
      [double(21, ''), 'INVALID_ARG', /more than 1048576 characters/],
      [double(28, ' | upper | lower | replace("a", "bb") | upper'), 'INTERNAL', /memory/],
      [`{{ ${'('.repeat(200_000)}1${')'.repeat(200_000)} }}`, 'INTERNAL', /cannot be parsed/],
      ['{{ messages.constructor.constructor("return process")() }}', 'INVALID_ARG', /not a function/],
    ] as const) {
      const error = await rejection(render(template, { messages: [] }));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, expected);
      assert.ok(error.message.length < 2000);
      assert.equal(await render('{{ 1 + 1 }}'), '2');
    }
    templates.close();
    assert.equal((await rejection(render('x'))).reason, 'CLOSED');
  });

  test('what cannot be sent to the process fails alone', async (t) => {
    let deep: unknown = 0;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const templates = new Templates(1 << 20);
    t.after(() => {
      templates.close();
    });
    const render = (context: object): Promise<string> =>
      templates.render({ model: 'm', template: 'x', context: { ...context } }, () => false);
    // Both while the process starts, and later.
    for (let round = 0; round < 2; round++) {
      const asked = [render({ deep }), render({ of: () => 0 }), render({})];
      const [first, second, third] = await Promise.allSettled(asked);
      for (const failed of [first, second]) {
        assert.equal(failed?.status, 'rejected');
        assert.match(String(failed.reason), /the chat template cannot be rendered/);
      }
      assert.deepEqual(third, { status: 'fulfilled', value: 'x' });
    }
  });

  test('only so many chats wait, and not for long', async (t) => {
    const templates = new Templates(1 << 20);
    t.after(() => {
      templates.close();
    });
    const render = (model: string): Promise<string> =>
      templates.render({ model, template: 'x', context: {} }, () => false);
    const first = render('m');
    const all = Array.from({ length: 256 }, () => render('m'));
    const newest = rejection(all.pop() ?? first);
    const waiting = Promise.allSettled(all);
    assert.equal((await rejection(render('m'))).reason, 'QUEUE_FULL');
    // Another model takes the place of the newest.
    const other = Promise.allSettled([render('other')]);
    assert.equal((await newest).reason, 'QUEUE_FULL');
    const later = performance.now() + 11_000;
    t.mock.method(performance, 'now', () => later);
    assert.equal(await first, 'x');
    for (const one of [...(await waiting), ...(await other)]) {
      assert.equal(one.status, 'rejected');
      assert.match(String(one.reason), /has waited more than 10000 ms/);
    }
  });

  for (const [what, prepare] of [
    ['a worker', ''],
    [
      'a worker with a test server',
      `const [input, output] = ['x', 'y'].map((name) => [{ name, data_type: 'TYPE_INT32', dims: [1] }]);
       await testServer({ models: { m: { config: { input, output }, answer: ({ x }) => ({ y: x }) } } });`,
    ],
  ] as const)
    test(
      `the process ends with ${what} that is terminated`,
      { skip: process.platform !== 'linux' },
      async (t) => {
        const code = `
      const { parentPort, workerData } = require('node:worker_threads');
      Promise.all(workerData.map((url) => import(url))).then(async ([{ Templates }, { testServer }]) => {
        ${prepare}
        await new Templates(100).render({ model: 'm', template: 'x', context: {} }, () => false);
        parentPort.postMessage('rendered');
        // It goes on until it is terminated.
        setInterval(() => {}, 1000);
      });`;
        const urls = ['endpoints/openai/templates.js', 'testing/index.js'].map(
          (path) => new URL(`../../../src/${path}`, import.meta.url).href,
        );
        const before = await templateProcesses();
        const worker = new Worker(code, { eval: true, workerData: urls });
        t.after(() => worker.terminate());
        await once(worker, 'message');
        const [pid, ...others] = (await templateProcesses()).filter((one) => !before.includes(one));
        assert.ok(pid !== undefined && others.length === 0);
        await worker.terminate();
        // A process that nobody has waited for is still there, as a zombie.
        await until(() => !existsSync(`/proc/${pid}`));
      },
    );

  test('signals that a terminal sends to all processes do not end the process', async (t) => {
    const program = ownFile('dist/src/endpoints/openai/template-process.js', 'for the test');
    const child = fork(program, { serialization: 'advanced' });
    t.after(() => child.kill('SIGKILL'));
    const said = async (): Promise<unknown> => ((await once(child, 'message')) as unknown[])[0];
    assert.deepEqual(await said(), { says: 'ready' });
    if (process.platform !== 'win32') for (const signal of ['SIGINT', 'SIGTERM'] as const) child.kill(signal);
    child.send({ template: 'x', context: {}, mostCharacters: 10, timeoutMs: 1000 } satisfies RenderJob);
    assert.deepEqual(await said(), { says: 'prompt', prompt: 'x' });
    child.disconnect();
    await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  });
});
