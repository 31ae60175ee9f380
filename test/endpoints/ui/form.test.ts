/** The form of the web page in a real browser: what it sends, and what it shows. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test, type TestContext } from 'node:test';
import sharp from 'sharp';
import { TritonError } from '../../../src/index.js';
import { testServer, type TestModel, type TestServer } from '../../../src/testing/index.js';
import { anyLength, identity, serve, until } from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';
import { noBrowser, type Locator, type Page } from './browser.js';
import { opened, served, useBrowser, type PageOptions } from './harness.js';

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

/** Values of each datatype as they are written, as they are shown, and as the model gets them. */
const values = {
  BOOL: ['[true, false]', '[true,false]', [1, 0]],
  INT8: ['[-128, 127]', '[-128,127]', [-128, 127]],
  INT16: ['[[-32768], [32767]]', '[-32768,32767]', [-32768, 32767]],
  INT32: ['[-2147483648, 7]', '[-2147483648,7]', [-2147483648, 7]],
  INT64: [
    '[9007199254740993, -9223372036854775808]',
    '[9007199254740993,-9223372036854775808]',
    [9007199254740993n, -(2n ** 63n)],
  ],
  UINT8: ['[0, 255]', '[0,255]', [0, 255]],
  UINT16: ['[0, 65535]', '[0,65535]', [0, 65535]],
  UINT32: ['[0, 4294967295]', '[0,4294967295]', [0, 4294967295]],
  UINT64: ['[18446744073709551615, 1]', '[18446744073709551615,1]', [2n ** 64n - 1n, 1n]],
  FP16: ['[65504, NaN, -0.1]', '[65504,NaN,-0.1]', [0x7bff, 0x7e00, 0xae66]],
  BF16: ['[3.39e38, -Infinity, 0.1]', '[3.39e+38,-Infinity,0.1]', [0x7f7f, 0xff80, 0x3dcd]],
  FP32: [
    '[NaN, Infinity, -Infinity, 0.1]',
    '[NaN,Infinity,-Infinity,0.1]',
    [NaN, Infinity, -Infinity, Math.fround(0.1)],
  ],
  FP64: ['[5e-324, -0, 0.1]', '[5e-324,-0,0.1]', [5e-324, -0, 0.1]],
} as const;
type Numeric = keyof typeof values;
const datatypes = Object.keys(values) as readonly Numeric[];

const tensor = (name: string, type: string, dims: readonly number[] = [-1]): object => ({
  ...{ name, dims },
  data_type: `TYPE_${type === 'BYTES' ? 'STRING' : type}`,
});

/** A server of one model, and its page. */
async function modelPage(
  t: TestContext,
  model: TestModel,
  options: PageOptions = {},
): Promise<{ page: Page; server: TestServer }> {
  const server = await testServer({ models: { model } });
  t.after(() => server.close());
  const page = await opened(t, `${await served(t, server)}/ui/`, options);
  await page.getByRole('button', { name: 'model' }).click();
  return { page, server };
}

const send = (page: Page): Promise<void> => page.getByRole('button', { name: 'Send' }).click();
const answerOf = (page: Page): Locator => page.getByRole('region', { name: 'Answer' });

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

  void test('each datatype is sent and shown as it is', async (t) => {
    const { page, server } = await modelPage(t, {
      config: {
        input: datatypes.map((datatype) => tensor(datatype, datatype)),
        output: datatypes.map((datatype) => tensor(`${datatype}_OUT`, datatype)),
      },
      answer: (inputs) =>
        Object.fromEntries(Object.entries(inputs).map(([name, one]) => [`${name}_OUT`, one])),
    });
    for (const datatype of datatypes) {
      const field = page.getByRole('group', { name: `${datatype} (${datatype})` });
      const [written, , received] = values[datatype];
      await field.getByLabel('Elements as a list').fill(written);
      await field.getByLabel('Shape').fill(String(received.length));
    }
    await send(page);
    for (const datatype of datatypes) {
      const output = page.locator('.output').filter({ hasText: `${datatype}_OUT` });
      await output.first().waitFor();
      assert.equal(await output.locator('pre').first().textContent(), values[datatype][1]);
    }
    const [request] = server.requests('model');
    for (const datatype of datatypes)
      assert.deepEqual([...(request?.inputs[datatype]?.data ?? [])], [...values[datatype][2]], datatype);
  });

  void test('bytes that are not UTF-8 are written and shown as hex and base64', async (t) => {
    const { page, server } = await modelPage(t, {
      config: { input: [tensor('in', 'BYTES')], output: [tensor('out', 'BYTES')] },
      answer: ({ in: given }) => ({ out: given }),
    });
    const shown = answerOf(page).locator('pre');
    for (const [writing, text] of [
      ['hex', '00ff\nfe'],
      ['base64', 'AP8=\n/g=='],
    ] as const) {
      await page.getByLabel('Written as').selectOption(writing);
      await page.getByLabel('Elements, one a line').fill(text);
      await send(page);
      await answerOf(page).getByText('Not UTF-8.').waitFor();
      assert.equal(await shown.textContent(), '00ff\nfe');
      await page.getByLabel('Shown as').selectOption('base64');
      assert.equal(await shown.textContent(), 'AP8=\n/g==');
      await page.getByRole('button', { name: 'model' }).click();
      await page.getByRole('button', { name: 'model' }).click();
    }
    for (const { inputs } of server.requests('model'))
      assert.deepEqual(inputs['in']?.data, [Buffer.from([0, 255]), Buffer.from([254])]);
    await page.getByLabel('Elements, one a line').fill('hé\n"\\');
    await send(page);
    await answerOf(page).getByText('["hé","\\"\\\\"]').waitFor();
    await page.getByLabel('Shown as').selectOption('hex');
    assert.equal(await shown.textContent(), '68c3a9\n225c');
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

  void test('large answers are shown in part, and saved as a whole', async (t) => {
    const count = 100_000;
    const floats = Float32Array.from({ length: count }, (_, i) => i / 2);
    const bytes = Buffer.from({ length: count }).map((_, i) => i % 251);
    const { page } = await modelPage(t, {
      config: {
        input: [tensor('in', 'INT8', [1])],
        output: [tensor('floats', 'FP32'), tensor('bytes', 'BYTES', [1])],
      },
      answer: () => ({ floats, bytes: [bytes] }),
    });
    await send(page);
    const [first, second] = ['floats', 'bytes'].map((name) =>
      page.locator('.output').filter({ hasText: `${name}: ` }),
    );
    assert.ok(first !== undefined && second !== undefined);
    await first.getByText('… and 98000 more').waitFor();
    await first.getByText('The largest: 99999 (50,000), 99998 (49,999)').waitFor();
    await second.getByText('… and 95904 more bytes').waitFor();
    for (const [output, expected] of [
      [first, Buffer.from(floats.buffer)],
      [second, bytes],
    ] as const) {
      const download = page.waitForEvent('download');
      await output.getByRole('button', { name: /^Download/ }).click();
      assert.ok((await readFile(await (await download).path())).equals(expected));
    }
  });

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
