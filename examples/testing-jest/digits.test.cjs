const path = require('node:path');
const { TritonError } = require('tritonts');
const { assertTensor, testServer } = require('tritonts/testing');
const { digitOf } = require('./digits.cjs');

/** Sees a 3 in each picture. The configuration is that of the real model. */
const three = ({ image }) => ({
  scores: Array.from({ length: image.shape[0] }, () => [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
});

let server;
beforeAll(async () => {
  server = await testServer({
    modelRepository: path.join(__dirname, '../digits/models'),
    models: { digits: three },
  });
});
afterAll(() => server.close());
afterEach(() => {
  jest.useRealTimers();
  server.reset();
});

const pixels = new Float32Array(64).fill(16);

/** Waits until a timer of the fake clock is set. The real turns of the event loop go on. */
const { setImmediate: realImmediate } = globalThis;
async function timerSet() {
  while (jest.getTimerCount() === 0) await new Promise((resolve) => realImmediate(resolve));
}

test('the digit with the best score is found', async () => {
  expect(await digitOf(server, pixels)).toBe(3);
  const [request] = server.requests('digits');
  assertTensor(request.inputs.image, { datatype: 'FP32', shape: [1, 64], data: pixels });
});

test('a busy server is asked again after a second', async () => {
  jest.useFakeTimers();
  server.fail('digits', new TritonError('UNAVAILABLE', 'the queue is full', { reason: 'QUEUE_FULL' }));
  const digit = digitOf(server, pixels);
  await timerSet();
  await jest.advanceTimersByTimeAsync(1000);
  expect(await digit).toBe(3);
  expect(server.requests('digits').map(({ outcome }) => outcome)).toEqual(['failed', 'answered']);
});

test('a slow model does not hold up others', async () => {
  jest.useFakeTimers();
  server.delay('digits', 60_000);
  let digit;
  const slow = digitOf(server, pixels).then((found) => (digit = found));
  await timerSet();
  await jest.advanceTimersByTimeAsync(59_999);
  expect(digit).toBe(undefined);
  await jest.advanceTimersByTimeAsync(1);
  await slow;
  expect(digit).toBe(3);
});

test('a picture of another size is refused, as by the real server', async () => {
  await expect(digitOf(server, new Float32Array(63))).rejects.toMatchObject({ code: 'INVALID_ARG' });
});

test('pictures that come together are one batch', async () => {
  const batch = server.batch('digits', 3);
  const digits = Promise.all([1, 2, 3].map(() => digitOf(server, pixels)));
  await batch;
  expect(await digits).toEqual([3, 3, 3]);
  expect(server.requests('digits').map(({ batchSize }) => batchSize)).toEqual([3, 3, 3]);
});
