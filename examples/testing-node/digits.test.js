import assert from 'node:assert/strict';
import { after, afterEach, mock, test } from 'node:test';
import { TritonError } from 'tritonts';
import { assertTensor, testServer } from 'tritonts/testing';
import { digitOf } from './digits.js';

/** Sees a 3 in each picture. The configuration is that of the real model. */
const three = ({ image }) => ({
  scores: Array.from({ length: image.shape[0] }, () => [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
});

const server = await testServer({
  modelRepository: new URL('../digits/models', import.meta.url),
  models: { digits: three },
});
after(() => server.close());
afterEach(() => {
  mock.timers.reset();
  server.reset();
});

const pixels = new Float32Array(64).fill(16);

test('the digit with the best score is found', async () => {
  assert.equal(await digitOf(server, pixels), 3);
  const [request] = server.requests('digits');
  assertTensor(request.inputs.image, { datatype: 'FP32', shape: [1, 64], data: pixels });
});

test('a busy server is asked again after a second', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  server.fail('digits', new TritonError('UNAVAILABLE', 'the queue is full', { reason: 'QUEUE_FULL' }));
  const digit = digitOf(server, pixels);
  // The code under test sets its timer when the first request has failed.
  while (server.requests('digits')[0]?.outcome !== 'failed') await new Promise(setImmediate);
  await new Promise(setImmediate);
  mock.timers.tick(1000);
  assert.equal(await digit, 3);
  assert.deepEqual(
    server.requests('digits').map(({ outcome }) => outcome),
    ['failed', 'answered'],
  );
});

test('a picture of another size is refused, as by the real server', async () => {
  await assert.rejects(digitOf(server, new Float32Array(63)), { code: 'INVALID_ARG' });
});

test('pictures that come together are one batch', async () => {
  const batch = server.batch('digits', 3);
  const digits = Promise.all([1, 2, 3].map(() => digitOf(server, pixels)));
  await batch;
  assert.deepEqual(await digits, [3, 3, 3]);
  assert.deepEqual(
    server.requests('digits').map(({ batchSize }) => batchSize),
    [3, 3, 3],
  );
});
