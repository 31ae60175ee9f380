/** Outputs in JSON. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { atOnce } from '../../../src/slices.js';
import { elementsText } from '../../../src/endpoints/http/json-output.js';
import { TritonError } from '../../../src/errors.js';
import { BytesWriter } from '../../../src/tensor/bytes.js';
import { BytesTensor } from '../../../src/tensor/bytes-tensor.js';

function tensorOf(elements: readonly (string | Uint8Array)[], shape = [elements.length]): BytesTensor {
  const writer = new BytesWriter(elements.length);
  for (const element of elements) assert.ok(writer.append(element));
  return new BytesTensor(shape, new Uint8Array(writer.finishOwned()));
}

void suite('BYTES in JSON', () => {
  const texts = [
    '',
    'plain',
    '"\\',
    '\u0000\n\u2028',
    'Grüße, 世界',
    '😀',
    'a \ufffd that was there',
    'x'.repeat(70_000),
  ];

  test('are what a parser reads back', () => {
    assert.deepEqual(JSON.parse(`[${atOnce(elementsText('m', 'y', tensorOf(texts)))}]`), texts);
  });

  test('are those of the elements once these were read', () => {
    const tensor = tensorOf(texts);
    tensor.data[1] = Buffer.from('changed');
    assert.deepEqual(JSON.parse(`[${atOnce(elementsText('m', 'y', tensor))}]`), texts.with(1, 'changed'));
  });

  test('that are no UTF-8 are refused by the number of the element', () => {
    for (const read of [false, true]) {
      const tensor = tensorOf(['a \ufffd', Buffer.from([0x61, 0xc3]), 'b']);
      if (read) assert.equal(tensor.data.length, 3);
      assert.throws(
        () => atOnce(elementsText('m', 'y', tensor)),
        (error) =>
          error instanceof TritonError &&
          error.code === 'INVALID_ARG' &&
          /^model 'm', output 'y': element 1 is not UTF-8, as JSON needs/.test(error.message),
      );
    }
  });
});
