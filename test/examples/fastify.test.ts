// Long: it starts many processes.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bestClass, modelRepository, readHeldOutDigits, type Digit } from '../../examples/digits/data.js';
import { createServer } from '../../src/index.js';
import { compile, layOut } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';
import { Client, startService, type Answer, type Service } from './service.js';

const folder = await temporaryFolder({ after });
await layOut('fastify', folder, 'fastify', 'onnxruntime-node', '@types');
const MODELS = fileURLToPath(modelRepository);

/** Requests of 16 images each, and the digits that the model finds when it is called directly. */
const digits = readHeldOutDigits();
const perRequest = 4;
const requests: { readonly body: string; readonly expected: readonly number[] }[] = [];
const server = await createServer(modelRepository);
for (let first = 0; first + perRequest <= digits.length; first += perRequest) {
  const images = digits.slice(first, first + perRequest);
  const { outputs } = await server.infer('digits_conv', { image: images.map(({ pixels }) => pixels) });
  const scores = outputs.scores?.as('FP32').data ?? new Float32Array();
  requests.push({ body: bodyOf(images), expected: bestOfEach(scores) });
}
await server.close();

function bodyOf(images: readonly Digit[]): string {
  return JSON.stringify({ inputs: { image: images.map(({ pixels }) => [...pixels]) } });
}

function bestOfEach(scores: ArrayLike<number>): number[] {
  const rows = Float32Array.from(scores);
  return Array.from({ length: rows.length / 10 }, (_, row) =>
    bestClass(rows.subarray(10 * row, 10 * row + 10)),
  );
}

/** The digits in an answer. */
function digitsOf({ body }: Answer): number[] {
  const { outputs } = JSON.parse(body) as { outputs: { scores: { data: number[] } } };
  return bestOfEach(outputs.scores.data);
}

/** Calls `use` with a service and a client of it, and stops the service afterwards. */
async function withService(
  env: Readonly<Record<string, string>>,
  use: (service: Service, client: Client) => Promise<void>,
): Promise<void> {
  const service = await startService(folder, { MODELS, ...env });
  const client = new Client(service.address);
  try {
    await use(service, client);
  } finally {
    client.close();
    service.kill();
    await service.ended;
  }
}

test('the example is typed', async () => {
  const options =
    '--noEmit --strict --skipLibCheck --allowJs --checkJs --target es2022 --module nodenext --lib es2023,esnext.disposable,dom --types node';
  assert.equal(await compile(folder, ...options.split(' '), 'main.js', 'service.js'), '');
});

/** A hang fails with a message. */
const limit = { timeout: 120_000 };

test('health, readiness, and what is wrong with a request, by status code', limit, async () => {
  await withService({ BODY_LIMIT: '20000' }, async (_service, client) => {
    const ask = async (path: string, body?: string): Promise<[number | undefined, unknown]> => {
      const answer = await client.send(path, body);
      return [answer?.status, JSON.parse(answer?.body ?? '')];
    };
    assert.deepEqual(await ask('/v2/health/live'), [200, { live: true }]);
    assert.deepEqual(await ask('/v2/health/ready'), [200, { ready: true }]);

    const one = { inputs: { image: [Array.from({ length: 64 }, () => 0)] } };
    const [status, answer] = await ask('/models/digits/infer', JSON.stringify(one));
    assert.equal(status, 200);
    assert.deepEqual((answer as { model: unknown }).model, { name: 'digits', version: '1' });

    for (const [path, body, code, message] of [
      ['/models/digits/infer', '{ "inputs": { "image": [[1, 2]] } }', 400, /model 'digits', input 'image'/],
      ['/models/digits/infer', '{ "inputs": { "image": "0" } }', 400, /body\/inputs\/image must be array/],
      ['/models/digits/infer', '{ "inputs": {', 400, /JSON/],
      ['/models/dogs/infer', JSON.stringify(one), 404, /unknown model 'dogs'/],
      ['/models/digits/infer', JSON.stringify({ ...one, more: 'x'.repeat(20_000) }), 413, /too large/],
    ] as const) {
      const [found, said] = await ask(path, body);
      assert.equal(found, code, body.slice(0, 80));
      assert.match((said as { message: string }).message, message);
    }
  });
});

test(
  'what is too much at once is answered with 429 and Retry-After, and every request in the end',
  limit,
  async () => {
    // Room for the inputs and outputs of three requests: 4 × (64 + 10) numbers of 4 bytes each.
    await withService({ MAX_IN_FLIGHT_BYTES: '3800' }, async (service, client) => {
      let refused = 0;
      await Promise.all(
        requests.map(async ({ body, expected }) => {
          for (;;) {
            const answer = await client.send('/models/digits_conv/infer', body);
            assert.ok(answer, 'the connection was lost');
            if (answer.status === 200) {
              assert.deepEqual(digitsOf(answer), expected);
              return;
            }
            refused += 1;
            assert.deepEqual([answer.status, answer.headers['retry-after']], [429, '1']);
            assert.match(answer.body, /"code":"UNAVAILABLE","reason":"TOO_MUCH_IN_FLIGHT"/);
          }
        }),
      );
      assert.ok(refused > 0, 'nothing was refused');
      service.terminate();
      assert.equal(await service.ended, 0);
      const all = requests.length + refused;
      assert.match(service.printed(), new RegExp(`stopped: ${all} requests taken, ${all} answered`));
    });
  },
);

test('stopped under load, it answers each request that it has taken', limit, async () => {
  await withService({}, async (service, client) => {
    const clients = 40;
    const least = 120;
    let answered = 0;
    let turnedAway = 0;
    let last = 0;
    await Promise.all(
      Array.from({ length: clients }, async (_, index) => {
        for (let turn = index; ; turn++) {
          const { body, expected } = requests[turn % requests.length] ?? { body: '', expected: [] };
          const answer = await client.send('/models/digits_conv/infer', body);
          if (answer?.status !== 200) {
            // There is no connection any more, or Fastify answers itself on one that is still open.
            if (answer)
              assert.deepEqual([answer.status, /"code":"UNAVAILABLE"/.test(answer.body)], [503, false]);
            turnedAway += 1;
            return;
          }
          assert.deepEqual(digitsOf(answer), expected);
          answered += 1;
          if (answer.headers.connection === 'close') last += 1;
          if (answered === least) service.terminate();
        }
      }),
    );
    assert.equal(await service.ended, 0);
    assert.equal(turnedAway, clients);
    assert.ok(answered >= least);
    const [, inFlight] = /stopping with (\d+) requests in flight/.exec(service.printed()) ?? [];
    assert.ok(inFlight !== undefined, service.printed());
    // The signal may come between the last answers and the next requests.
    assert.ok(last > 0 || inFlight === '0', 'no answer ended its connection');
    assert.match(service.printed(), new RegExp(`stopped: ${answered} requests taken, ${answered} answered`));
  });
});
