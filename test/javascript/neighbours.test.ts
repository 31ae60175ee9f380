/** A bad request or result of a batch affects no other request: the others get their answers. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createServer, TritonError, type InferenceServer } from '../../src/index.js';
import type { ModelRequest } from '../../src/javascript/index.js';
import { addressOf, connected } from '../client/harness.js';
import { script as python, serving, skip } from '../python/harness.js';
import { floats, row, serve, until } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { executing, script } from './harness.js';

/** Expressions for the result of the bad request, which may use `request`, and the expected errors. */
const bad: Readonly<Record<string, readonly [string, RegExp]>> = {
  'a promise that rejects': [`Promise.reject(new Error('rejected'))`, /rejected/],
  'an async function that throws what is no Error': [`(async () => { throw 'text'; })()`, /threw 'text'/],
  'a getter then that throws': [`({ get then() { throw new Error('then'); } })`, /then/],
  'a Map': [`new Map([['y', request.inputs.x]])`, /a Map/],
  'a Set of promises that reject': [`new Set([Promise.reject(new Error('unseen'))])`, /a Set/],
  'a Date': ['new Date(0)', /a Date/],
  'an array': ['[request.inputs.x]', /an array/],
  'an instance of a class': ['new (class Answer { z() {} })()', /an instance of Answer/],
  nothing: ['undefined', /but got undefined/],
  null: ['null', /but got null/],
  'a number': ['7', /but got 7/],
  'an empty object': ['({})', /expected output 'y', which the caller requested/],
  'an output that is undefined': ['({ y: undefined })', /expected output 'y'/],
  'an output that is a promise which rejects': [`({ y: Promise.reject(new Error('late')) })`, /a Promise/],
  'a getter that throws': [`({ get y() { throw new Error('getter'); } })`, /getter/],
  'a getter that throws what is no text': [
    '({ get y() { throw Object.create(null); } })',
    /an unreadable value/,
  ],
  'a revoked proxy': [
    '(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()',
    /./,
  ],
  'elements whose toString throws': [
    `({ y: [[...Array(16)].map(() => ({ toString() { throw new Error(); } }))] })`,
    /output 'y'/,
  ],
  'null elements': ['({ y: [Array(16).fill(null)] })', /but got null/],
};

/** Three requests at once in one batch, of which the second is bad. */
async function three(
  server: InferenceServer,
  model: string,
): Promise<readonly PromiseSettledResult<unknown>[]> {
  return Promise.allSettled([1, -1, 3].map((first) => server.infer(model, { x: row(first) })));
}

async function holds(server: InferenceServer, model: string, expected: RegExp, what: string): Promise<void> {
  const [first, second, third] = await three(server, model);
  assert.equal(first?.status, 'fulfilled', what);
  assert.equal(third?.status, 'fulfilled', what);
  assert.ok(second?.status === 'rejected', what);
  assert.ok(second.reason instanceof TritonError);
  assert.match(second.reason.message, expected, what);
  assert.equal(second.reason.code, 'INTERNAL', what);
}

for (const [what, [made, expected]] of Object.entries(bad)) {
  test(`${what} fails its own request only, and no thread dies of it`, async (t) => {
    const one = (fine: string): string => `(request) => request.inputs.x.data[0] < 0 ? ${made} : ${fine}`;
    const good = '({ y: request.inputs.x })';
    const forms = {
      plain: `return requests.map(${one(good)});`,
      later: `return new Promise((resolve) => setImmediate(() => resolve(requests.map(${one(good)}))));`,
      mixed: `return requests.map(${one(`Promise.resolve(${good})`)});`,
    };
    const models = Object.fromEntries(
      Object.entries(forms).map(([name, body]) => [name, script(executing(body))]),
    );
    const server = await serve(t, models);
    for (const name of Object.keys(models)) await holds(server, name, expected, `${what}, ${name}`);
    for (const { state, reason } of server.index()) assert.deepEqual([state, reason], ['READY', undefined]);
  });
}

test('a lone surrogate fails its own request only', async (t) => {
  const server = await serve(t, {
    m: script(
      executing(
        `return requests.map(({ inputs: { x } }) => ({ y: [[x.data[0] < 0 ? '\\ud800' : 'fine']] }));`,
      ),
      {
        outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
      },
    ),
  });
  await holds(server, 'm', /output 'y'/, 'a surrogate');
});

test('requests.map(async …) answers, and null leaves an output out on purpose', async (t) => {
  const server = await serve(t, {
    m: script(
      executing(
        `return requests.map(async ({ inputs: { x } }) => ({ y: x, ...(x.data[0] < 0 && { z: null }), ...(x.data[0] >= 0 && { z: x }) }));`,
      ),
      { outputs: [{ name: 'y' }, { name: 'z' }] },
    ),
  });
  const results = await Promise.all([1, -1, 3].map((first) => server.infer('m', { x: row(first) })));
  assert.deepEqual(
    results.map(({ outputs }) => Object.keys(outputs)),
    [['y', 'z'], ['y'], ['y', 'z']],
  );
  const only = await server.infer('m', { x: row(-1) }, { outputs: ['y'] });
  assert.deepEqual(Object.keys(only.outputs), ['y']);
});

test('responses that are promises are awaited, and what is no response ends its own stream', async (t) => {
  const server = await serve(t, {
    m: script(
      executing(`return requests.map(function* ({ inputs: { x } }) {
        yield Promise.resolve({ y: x });
        yield { y: x };
        yield x.data[0] < 0 ? Promise.reject(new Error('third')) : { y: x };
        yield x.data[0] < 5 ? new Map() : { y: x };
      });`),
      { more: 'model_transaction_policy { decoupled: true }' },
    ),
  });
  const read = async (first: number): Promise<readonly [number, string]> => {
    let count = 0;
    try {
      for await (const { outputs } of server.stream('m', { x: row(first) })) {
        assert.equal(outputs['y']?.data[0], first);
        count++;
      }
      return [count, ''];
    } catch (error) {
      return [count, String(error)];
    }
  };
  const [rejects, wrong, fine] = await Promise.all([-1, 1, 9].map(read));
  assert.deepEqual(fine, [4, '']);
  assert.equal(rejects?.[0], 2);
  assert.match(rejects[1], /third/);
  assert.equal(wrong?.[0], 3);
  assert.match(wrong[1], /a Map/);
});

/** Throws for a batch with a negative number in it, and counts its runs. */
const picky = `if (requests.some(({ inputs }) => inputs.x.data[0] < 0)) throw new Error('negative');
  return requests.map(({ inputs }) => ({ y: inputs.x }));`;
const pickyPython = `def execute(self, requests):
    if any(array(request)[0][0] < 0 for request in requests):
        raise ValueError("negative")
    return [answer(array(request)) for request in requests]`;
const reruns = { parameters: { rerun_in_halves: 'true' } };

for (const [language, made, without] of [
  ['JavaScript', () => script(executing(picky), reruns), () => script(executing(picky))],
  [
    'asynchronous JavaScript',
    () => script(executing(`await null; ${picky}`).replace('execute', 'async execute'), reruns),
    () => script(executing(picky)),
  ],
  ['Python', () => python(pickyPython, reruns), () => python(pickyPython)],
] as const) {
  const isPython = language === 'Python';
  test(
    `one bad request in a batch of a model in ${language} that may run again`,
    { skip: isPython && skip },
    async (t) => {
      const server = await serving(t, { m: made(), once: without() });
      await Promise.all(['m', 'once'].map((model) => server.infer(model, { x: row() })));
      const asked = [1, 2, -3, 4, 5].map((first) => server.infer('m', { x: row(first) }));
      const outcomes = await Promise.allSettled(asked);
      assert.deepEqual(
        outcomes.map((one) => (one.status === 'fulfilled' ? floats(one.value)[0] : String(one.reason))),
        [1, 2, outcomes[2]?.status === 'rejected' ? String(outcomes[2].reason) : '', 4, 5],
      );
      assert.match(String(outcomes[2]?.status === 'rejected' && outcomes[2].reason), /negative/);
      // A model without `rerun_in_halves` is not run twice.
      const failed = await three(server, 'once');
      assert.deepEqual(
        failed.map(({ status }) => status),
        ['rejected', 'rejected', 'rejected'],
      );
    },
  );
}

/** The example of calls in the documentation. */
async function documented(): Promise<string> {
  const page = await readFile(new URL('../../../docs/pipelines.md', import.meta.url), 'utf8');
  const text = /```js\n(export default class Answer [^]*?)```/.exec(page)?.[1];
  assert.ok(text !== undefined);
  return text;
}

const texts = {
  inputs: [{ name: 'text', datatype: 'BYTES', dims: [1] }],
  outputs: [{ name: 'ids', dims: [1] }],
} as const;
/** A tokenizer that waits for a gate, and fails for `bad`. */
const tokenizer = `
  import { existsSync, writeFileSync } from 'node:fs';
  export default class { async execute(requests) {
    return requests.map(async ({ inputs, signal }) => {
      const text = inputs.text.strings()[0];
      if (text === 'bad') throw new Error('bad text');
      if (text.startsWith('/')) writeFileSync(text + '.seen', '');
      while (text.startsWith('/') && !existsSync(text)) await new Promise((resolve) => setTimeout(resolve, 2));
      return { ids: [[1]] };
    });
  } };`;
const pythonTokenizer = `def execute(self, requests):
    answers = []
    for request in requests:
        text = array(request, "text")[0][0].decode()
        if text.startswith("/"):
            open(text + ".seen", "w").close()
        while text.startswith("/") and not os.path.exists(text):
            time.sleep(0.002)
        error = pb_utils.TritonError("bad text") if text == "bad" else None
        answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("ids", np.ones((1, 1), np.float32))], error))
    return answers`.replace(
  'def execute(self, requests):',
  'def execute(self, requests):\n    import numpy as np',
);

for (const [language, model] of [
  ['JavaScript', script(tokenizer, { ...texts, parameters: { max_concurrency: 64 } })],
  ['Python', python(pythonTokenizer, texts)],
] as const) {
  const isPython = language === 'Python';
  test(
    `callers that leave the documented example, which calls ${language}, fail nobody else`,
    { skip: isPython && skip },
    async (t) => {
      const gate = `${await temporaryFolder(t)}/open`;
      const server = await serving(t, {
        tokenizer: model,
        answer: script(await documented(), {
          ...texts,
          // All of them are one batch.
          batching: 'preferred_batch_size: [ 9 ] max_queue_delay_microseconds: 2000000',
          parameters: { requires: 'tokenizer' },
        }),
      });
      const url = await addressOf(t, 'http', server);
      const leaving = await connected(t, url);
      const ask = (text: string, signal?: AbortSignal): Promise<unknown> =>
        server.infer('answer', { text: [[text]] }, { ...(signal && { signal }) });
      const controller = new AbortController();
      // One batch: a caller that aborts, a client that hangs up, a bad text, and others.
      const gone = [ask(gate, controller.signal), leaving.infer('answer', { text: [[gate]] }), ask('bad')];
      const others = Array.from({ length: 6 }, () => ask(gate));
      const ended = Promise.allSettled(gone);
      await until(() => existsSync(`${gate}.seen`));
      controller.abort();
      await leaving.close({ timeoutMs: 0 });
      await writeFile(gate, '');
      await Promise.all(others);
      for (const one of await ended) assert.equal(one.status, 'rejected');
      assert.deepEqual(Object.keys(((await ask('again')) as { outputs: object }).outputs), ['ids']);
    },
  );
}

test('a model that takes requests off its list has each of them answered', async (t) => {
  const server = await createServer({
    models: {
      m: {
        config: {
          max_batch_size: 8,
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
          output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
          dynamic_batching: {},
        },
        execute(requests: ModelRequest[]) {
          const results = [];
          for (let one = requests.shift(); one !== undefined; one = requests.shift())
            results.push({ y: one.inputs['x'] });
          return results;
        },
      },
    },
  });
  t.after(() => server.close());
  const answers = await Promise.all([1, 2, 3].map((value) => server.infer('m', { x: [[value]] })));
  assert.deepEqual(
    answers.map(({ outputs }) => outputs['y']?.toArray()),
    [[[1]], [[2]], [[3]]],
  );
});
