/** The form of the web page for models of streams and of sequences. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { TritonError } from '../../../src/index.js';
import { until } from '../../support/harness.js';
import { noBrowser } from './browser.js';
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

  void test('streams have no input that JSON does not carry', async (t) => {
    const { page, server } = await modelPage(t, {
      config: {
        model_transaction_policy: { decoupled: true },
        input: [tensor('half', 'FP16', [1]), tensor('bytes', 'BYTES', [1])],
        output: [tensor('out', 'BYTES', [1])],
      },
      *answer({ bytes }) {
        yield { out: bytes };
      },
    });
    await page.getByLabel('Written as').selectOption('hex');
    await page.getByLabel('Elements, one a line').fill('ff');
    await send(page);
    await page
      .getByRole('group', { name: 'half' })
      .getByText(/expected a datatype that JSON carries/)
      .waitFor();
    await page
      .getByRole('group', { name: 'bytes' })
      .getByText(/expected UTF-8/)
      .waitFor();
    assert.equal(server.requests('model').length, 0);
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
