/** The form of the web page in a real browser. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import sharp from 'sharp';
import { anyLength, identity, serve } from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';
import { noBrowser } from './browser.js';
import { answerOf, modelPage, opened, send, served, tensor, useBrowser } from './harness.js';

/** A model of strings that answers with their lengths in bytes. */
const lengths: RepositoryModel = {
  config: `
backend: "javascript"
input [ { name: "text" data_type: TYPE_STRING dims: [ -1 ] } ]
output [ { name: "length" data_type: TYPE_INT32 dims: [ -1 ] } ]
`,
  versions: {
    '1': {
      'model.js': `
export default {
  execute: (requests) => requests.map(({ inputs }) => ({
    length: Int32Array.from(inputs.text.data, (bytes) => bytes.length),
  })),
};
`,
    },
  },
};

/** A model of images that answers with the mean of each channel. */
const means: RepositoryModel = {
  config: `
backend: "javascript"
max_batch_size: 4
input [ { name: "image" data_type: TYPE_FP32 dims: [ 3, 4, 6 ] } ]
output [ { name: "mean" data_type: TYPE_FP32 dims: [ 3 ] } ]
`,
  versions: {
    '1': {
      'model.js': `
export default {
  execute: (requests) => requests.map(({ inputs }) => {
    const { data } = inputs.image;
    const area = 24;
    return { mean: { data: Float32Array.from([0, 1, 2], (c) =>
      data.slice(c * area, (c + 1) * area).reduce((sum, one) => sum + one, 0) / area), shape: [1, 3] } };
  }),
};
`,
    },
  },
};

void suite('the form', { skip: noBrowser ?? false }, () => {
  useBrowser();

  void test('a form sends numbers, text, files and images, and shows the answer or the error', async (t) => {
    const server = await serve(t, { echo: identity(anyLength), lengths, means });
    const page = await opened(t, `${await served(t, server)}/ui/`);
    const answer = answerOf(page);

    await page.getByRole('button', { name: 'echo' }).click();
    await page.getByLabel('Shape').fill('1, 2');
    await page.getByLabel('Elements as a list').fill('[[1.5, -2]]');
    await send(page);
    await answer.getByText('[1.5,-2]').waitFor();
    await answer.getByText('The largest: 0 (1.5), 1 (-2).').waitFor();

    await page.getByRole('button', { name: 'lengths' }).click();
    await page.getByLabel('Elements, one a line').fill('two\nwords…');
    await send(page);
    await answer.getByText('[3,8]').waitFor();
    // Not valid UTF-8.
    const bytes = Buffer.from([0, 255, 254, 7, 8]);
    await page
      .getByLabel('File, as the one element')
      .setInputFiles({ name: 'a.bin', mimeType: 'application/octet-stream', buffer: bytes });
    await send(page);
    await answer.getByText('[5]').waitFor();

    await page.getByRole('button', { name: 'means' }).click();
    const background = { r: 255, g: 51, b: 0 };
    const image = await sharp({ create: { width: 12, height: 8, channels: 3, background } })
      .png()
      .toBuffer();
    await page
      .getByLabel('Image file')
      .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: image });
    await send(page);
    await answer.getByText('[1,0.2,0]').waitFor();
    await page.getByLabel('Values of the image').selectOption('255');
    await send(page);
    await answer.getByText('[255,51,0]').waitFor();
  });

  void test('what is wrong in a field is said beside it, and nothing is sent', async (t) => {
    const { page, server } = await modelPage(t, {
      config: {
        max_batch_size: 4,
        input: [tensor('number', 'INT8', [2]), tensor('half', 'FP16', [1]), tensor('bytes', 'BYTES', [1])],
        output: [tensor('out', 'INT8', [2])],
      },
      answer: ({ number }) => ({ out: number }),
    });
    const fields = {
      number: page.getByRole('group', { name: 'number (INT8)' }),
      half: page.getByRole('group', { name: 'half (FP16)' }),
      bytes: page.getByRole('group', { name: 'bytes (BYTES)' }),
    };
    const [list, lines, shape] = ['Elements as a list', 'Elements, one a line', 'Shape'];
    for (const [field, label, text, right, message] of [
      [
        'number',
        list,
        '[1, 200]',
        '[1, 2]',
        'element 1: expected a whole number from -128 to 127 but received 200',
      ],
      [
        'number',
        list,
        '[1.5, 2]',
        '[1, 2]',
        'element 0: expected a whole number from -128 to 127 but received 1.5',
      ],
      ['number', list, '[1, 2', '[1, 2]', "expected a ']' for each '['"],
      ['number', list, '[1 2]', '[1, 2]', 'expected a comma before 2, behind 1 elements'],
      ['number', list, '[1, , 2]', '[1, 2]', "expected an element before ',', behind 1 elements"],
      ['number', list, '[1, 2, 3]', '[1, 2]', 'expected 2 elements for the shape [1, 2] but received 3'],
      ['number', shape, '1, x', '1, 2', 'expected whole numbers with commas for the shape but received 1, x'],
      [
        'number',
        shape,
        '1, 3',
        '1, 2',
        'expected a shape of 2 dims like [-1, 2], where -1 is any number, but received [1, 3]',
      ],
      [
        'half',
        list,
        '[65520]',
        '[1]',
        'element 0: expected a number between ±65520, NaN, Infinity or -Infinity but received 65520',
      ],
      [
        'bytes',
        lines,
        'ABC',
        '0A',
        'line 1: expected pairs of the digits 0 to 9 and a to f but received ABC',
      ],
    ] as const) {
      if (field === 'bytes') await fields.bytes.getByLabel('Written as').selectOption('hex');
      await fields[field].getByLabel(label).fill(text);
      await send(page);
      await fields[field].getByText(message).waitFor();
      await answerOf(page).getByText('Nothing was sent').waitFor();
      assert.equal(await fields[field].getByLabel(label).getAttribute('aria-invalid'), 'true');
      await fields[field].getByLabel(label).fill(right);
    }
    assert.equal(server.requests('model').length, 0);
    await send(page);
    await answerOf(page).getByText('[1,2]').waitFor();
    assert.equal(await page.locator('fieldset .bad:not([hidden])').count(), 0);
  });

  void test("a phone's width is enough", async (t) => {
    const { page } = await modelPage(
      t,
      {
        config: {
          sequence_batching: {},
          input: [tensor('bytes', 'BYTES'), tensor('image', 'UINT8', [3, 4, 4])],
          output: [tensor('out', 'BYTES')],
        },
        answer: ({ bytes }) => ({ out: bytes }),
      },
      { width: 360 },
    );
    await send(page);
    await answerOf(page).getByText('["text"]').waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
    // The status has a line of its own, and words are not broken.
    const oneLine = (selector: string): Promise<unknown> =>
      page.evaluate(`(() => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector('${selector}'));
        return range.getClientRects().length;
      })()`);
    assert.equal(await oneLine('#status'), 1);
    assert.equal(await oneLine('#models .good'), 1);
  });
});
