/** What modules of the page's form make of texts and numbers, without a browser. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { pageFiles } from '../../../src/endpoints/ui/page-files.js';
import { temporaryFolder } from '../../support/repository.js';

interface Modules {
  readonly exact: { readonly parseExact: (json: string) => unknown };
  readonly strings: { readonly byteStringsOf: (text: string, writing: string) => readonly Uint8Array[] };
  readonly elements: {
    valuesOf(datatype: string, texts: readonly string[]): readonly unknown[];
    bytesOfNumbers(
      datatype: string,
      count: number,
      each: (call: (i: number, value: number) => void, from: number, to: number) => void,
      places: number,
    ): Promise<Uint8Array>;
  };
}

let modules: Modules;

before(async () => {
  const folder = await temporaryFolder({ after });
  for (const [path, text] of Object.entries(pageFiles)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const load = async <T>(name: string): Promise<T> =>
    // The modules are JavaScript without types.
    (await import(pathToFileURL(join(folder, 'request', `${name}.js`)).href)) as T;
  modules = {
    exact: await load('exact-json'),
    strings: await load('byte-strings'),
    elements: await load('elements'),
  };
});

const long = 8 << 20;

test('JSON is read exactly, whatever the length of its texts', () => {
  const { parseExact } = modules.exact;
  assert.deepEqual(
    parseExact('{"a":[9007199254740993,-Infinity,NaN,1.5e3,-0],"NaN":"\\\\","b":"\\"NaN\\\\\\""}'),
    {
      a: ['9007199254740993', '-Infinity', 'NaN', 1500, -0],
      NaN: '\\',
      b: '"NaN\\"',
    },
  );
  for (const text of ['a'.repeat(long), '\n"\\'.repeat(long / 4)])
    assert.deepEqual(parseExact(JSON.stringify([text, text])), [text, text]);
  assert.throws(() => parseExact('"open'), SyntaxError);
  assert.throws(() => parseExact('"'), SyntaxError);
});

test('hex has any length, and pairs of digits', () => {
  const { byteStringsOf } = modules.strings;
  assert.equal(byteStringsOf('fF'.repeat(long), 'hex')[0]?.byteLength, long);
  assert.deepEqual(byteStringsOf('00 fF\n', 'hex'), [Uint8Array.of(0, 255), new Uint8Array()]);
  for (const wrong of ['0', '000', '0g', 'x0'])
    assert.throws(() => byteStringsOf(wrong, 'hex'), /line 1: expected pairs of the digits/);
});

test('BOOL is true or false', () => {
  assert.deepEqual(modules.elements.valuesOf('BOOL', ['true', 'false']), [true, false]);
  for (const wrong of ['constructor', 'toString', '__proto__', 'True', '1'])
    assert.throws(() => modules.elements.valuesOf('BOOL', [wrong]), /expected true or false but received/);
});

test('numbers of an image become elements, or are refused', async () => {
  const bytesOf = async (datatype: string, values: readonly number[]): Promise<Buffer> =>
    Buffer.from(
      await modules.elements.bytesOfNumbers(
        datatype,
        values.length,
        (call, from, to) => {
          for (let i = from; i < to; i++) call(i, values[i] ?? NaN);
        },
        values.length,
      ),
    );
  assert.deepEqual(await bytesOf('UINT8', [0, 255]), Buffer.from([0, 255]));
  assert.deepEqual(await bytesOf('INT64', [-1, 2]), Buffer.from(BigInt64Array.of(-1n, 2n).buffer));
  assert.deepEqual(await bytesOf('FP32', [0.5, -1]), Buffer.from(Float32Array.of(0.5, -1).buffer));
  const many = Array.from({ length: 100_000 }, (_, i) => i % 256);
  assert.deepEqual(await bytesOf('UINT8', many), Buffer.from(many));
  await assert.rejects(
    bytesOf('INT8', [0, 200]),
    /element 1: expected a whole number from -128 to 127 but received 200/,
  );
  await assert.rejects(bytesOf('UINT8', [0.5]), /element 0: expected a whole number from 0 to 255/);
});
