/** The form of the web page for models of streams and of sequences. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { TritonError } from '../../../src/index.js';
import { until } from '../../support/harness.js';
import sharp from 'sharp';
import { noBrowser, type Locator } from './browser.js';
import { answerOf, modelPage, send, tensor, useBrowser } from './harness.js';

void suite('streams and sequences in the form', { skip: noBrowser ?? false }, () => {
  useBrowser();

  void test('a stream is shown answer by answer, until it ends, fails or is stopped', async (t) => {
    let stops = 0;
    const { page, server } = await modelPage(t, {
      config: {
        model_transaction_policy: { decoupled: true },
        input: [tensor('count', 'INT64', [1])],
        output: [tensor('number', 'UINT64', [1]), tensor('share', 'FP32', [2])],
      },
      async *answer({ count }, { signal }) {
        const most = Number(count?.data[0]);
        for (let i = 0n; i < most; i++)
          yield { number: BigUint64Array.of(2n ** 64n - 1n - i), share: Float32Array.of(0.1, NaN) };
        if (most > 0) return;
        if (most < 0) throw new TritonError('INTERNAL', 'no more numbers');
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        stops++;
      },
    });
    const count = page.getByLabel('Elements as a list');
    await count.fill('[3]');
    await send(page);
    await answerOf(page)
      .getByText(/The stream ended after 3 answers/)
      .waitFor();
    const third = answerOf(page).locator('section').nth(2);
    await third.getByText('[18446744073709551613]').waitFor();
    await third.getByText('[0.1,NaN]').waitFor();
    await count.fill('[120]');
    await send(page);
    await answerOf(page).getByText('The last 100 are shown.').waitFor();
    assert.equal(await answerOf(page).locator('section').count(), 100);
    await count.fill('[-1]');
    await send(page);
    await answerOf(page)
      .getByText(/no more numbers/)
      .waitFor();
    await count.fill('[0]');
    await send(page);
    await until(() => server.requests('model').length === 4);
    await page.getByRole('button', { name: 'Stop' }).click();
    await answerOf(page).getByText('The request was stopped.').waitFor();
    await until(() => stops === 1);
  });

  void test('a stream carries all datatypes, shapes and names', async (t) => {
    const names = ['id', 'parameters', 'error'];
    const { page, server } = await modelPage(t, {
      config: {
        model_transaction_policy: { decoupled: true },
        input: [
          tensor('id', 'FP16', [-1, -1]),
          tensor('parameters', 'BF16', [1]),
          tensor('error', 'BYTES', [1]),
        ],
        output: [
          tensor('error', 'BYTES', [1]),
          tensor('parameters', 'BF16', [1]),
          tensor('id', 'FP16', [-1, -1]),
        ],
      },
      *answer(inputs) {
        yield inputs;
        yield inputs;
      },
    });
    const field = (name: string): Locator => page.getByRole('group', { name });
    await field('id (FP16)').getByLabel('Shape').fill('2, 1');
    await field('id (FP16)').getByLabel('Elements as a list').fill('[[0.1], [NaN]]');
    await field('parameters (BF16)').getByLabel('Elements as a list').fill('[-0]');
    await field('error (BYTES)').getByLabel('Written as').selectOption('hex');
    await field('error (BYTES)').getByLabel('Elements, one a line').fill('00ff');
    await send(page);
    await answerOf(page)
      .getByText(/The stream ended after 2 answers/)
      .waitFor();
    const second = answerOf(page).locator('section').nth(1);
    for (const text of ['id: FP16 [2, 1]', '[0.1,NaN]', '[-0]', '00ff', 'Not UTF-8.'])
      await second.getByText(text).first().waitFor();
    const [request] = server.requests('model');
    assert.deepEqual(Object.keys(request?.inputs ?? {}).sort(), [...names].sort());
    assert.deepEqual(request?.inputs['id']?.shape, [2, 1]);
    assert.deepEqual(request.inputs['error']?.data, [Buffer.from([0, 255])]);
  });

  void test('what fails after answers is told below them, and long strings are cut', async (t) => {
    const { page } = await modelPage(t, {
      config: {
        model_transaction_policy: { decoupled: true },
        input: [tensor('in', 'INT32', [1])],
        output: [tensor('out', 'BYTES', [1])],
      },
      *answer() {
        yield { out: ['x'.repeat(100_000)] };
        throw new TritonError('INTERNAL', 'no second answer');
      },
    });
    await send(page);
    await answerOf(page).getByText('… and 95904 more bytes').waitFor();
    await answerOf(page)
      .getByText(/no second answer/)
      .waitFor();
    assert.equal(await answerOf(page).locator('section').count(), 1);
  });

  void test('of large answers the last ones are kept', async (t) => {
    const { page } = await modelPage(t, {
      config: {
        model_transaction_policy: { decoupled: true },
        input: [tensor('in', 'INT32', [1])],
        output: [tensor('out', 'FP32', [-1])],
      },
      *answer() {
        // 24 MiB each.
        for (let i = 0; i < 4; i++) yield { out: new Float32Array(6 * 2 ** 20).fill(i) };
      },
    });
    await send(page);
    await answerOf(page)
      .getByText(/The stream ended after 4 answers.* The last 2 are shown\./)
      .waitFor();
    assert.equal(await answerOf(page).locator('section').count(), 2);
    await answerOf(page)
      .locator('section')
      .nth(1)
      .getByText(/^\[3,3/)
      .waitFor();
  });

  void test('an image becomes an input of a stream, and the page is not held up', async (t) => {
    const side = 2000;
    const { page, server } = await modelPage(t, {
      config: {
        model_transaction_policy: { decoupled: true },
        input: [tensor('image', 'FP16', [3, side, side])],
        output: [tensor('mean', 'FP32', [1])],
      },
      *answer() {
        yield { mean: [0.5] };
      },
    });
    const background = { r: 255, g: 51, b: 0 };
    const image = await sharp({ create: { width: 12, height: 8, channels: 3, background } })
      .png()
      .toBuffer();
    await page
      .getByLabel('Image file')
      .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: image });
    // Turns of the page's event loop while numbers are made.
    await page.evaluate(`
      window.turns = 0;
      const turn = () => { window.turns++; window.counting = setTimeout(turn); };
      document.getElementById('request').addEventListener('submit', turn);`);
    await send(page);
    await answerOf(page)
      .getByText(/The stream ended after 1 answers/)
      .waitFor();
    const turns = Number(await page.evaluate('clearTimeout(window.counting), window.turns'));
    assert.ok(turns > 5, `the page had ${turns} turns`);
    const [{ inputs } = assert.fail()] = server.requests('model');
    const { data } = inputs['image'] ?? assert.fail();
    const area = side * side;
    // As bits: 1, 1 and 0.
    assert.deepEqual([data[0], data[area - 1], data[2 * area]], [0x3c00, 0x3c00, 0]);
  });

  void test('a sequence has an id, a start and an end', async (t) => {
    const { page, server } = await modelPage(t, {
      config: {
        sequence_batching: {},
        input: [tensor('in', 'INT32', [1])],
        output: [tensor('out', 'INT32', [1])],
      },
      answer: ({ in: given }) => ({ out: given }),
    });
    const id = page.getByLabel('Id of the sequence');
    for (const wrong of ['', '0', '18446744073709551616']) {
      await id.fill(wrong);
      await send(page);
      await page
        .getByRole('group', { name: 'Sequence' })
        .getByText(/expected a whole number from 1 to 18446744073709551615/)
        .waitFor();
    }
    await id.fill('18446744073709551615');
    for (const last of [false, false, true]) {
      if (last) await page.getByLabel('End the sequence').click();
      const before = server.requests('model').length;
      await send(page);
      await until(() => server.requests('model').length > before);
      await answerOf(page).getByText('[0]').waitFor();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    }
    assert.deepEqual(
      server.requests('model').map(({ sequence }) => sequence),
      [
        { id: 2n ** 64n - 1n, start: true, end: false },
        { id: 2n ** 64n - 1n, start: false, end: false },
        { id: 2n ** 64n - 1n, start: false, end: true },
      ],
    );
    assert.equal(await page.getByLabel('Start the sequence').isChecked(), true);
  });
});
