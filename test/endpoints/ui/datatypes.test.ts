/** What the form of the web page sends and shows of each datatype. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { noBrowser } from './browser.js';
import { answerOf, modelPage, send, tensor, useBrowser } from './harness.js';

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

void suite("the form's datatypes", { skip: noBrowser ?? false }, () => {
  useBrowser();

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
});
