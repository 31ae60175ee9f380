import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../support/fast-check.js';
import { TritonError } from '../../src/errors.js';
import {
  BytesWriter,
  countElements,
  decodeElements,
  decodeTexts,
  splitElements,
} from '../../src/tensor/bytes.js';
import { detach } from './encode.js';

function write(...elements: readonly unknown[]): Uint8Array<ArrayBuffer> {
  const writer = new BytesWriter(elements.length);
  for (const element of elements) assert.ok(writer.append(element));
  return new Uint8Array(writer.finishOwned());
}

describe('the BYTES wire format', () => {
  it('has the length of each element before it, little-endian in four bytes', () => {
    assert.deepEqual([...write('ab', '', Uint8Array.of(7))], [2, 0, 0, 0, 97, 98, 0, 0, 0, 0, 1, 0, 0, 0, 7]);
    assert.deepEqual([...write('a'.repeat(70_000)).subarray(0, 5)], [0x70, 0x11, 1, 0, 97]);
  });

  it('has strings as UTF-8, whatever their length and characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 120 }), (text) => {
        const expected = new TextEncoder().encode(text);
        assert.deepEqual([...write(text).subarray(4)], [...expected]);
      }),
    );
  });

  it('gives back any strings and any bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array())), (elements) => {
        const wire = write(...elements);
        assert.equal(countElements(wire), elements.length);
        assert.deepEqual(
          splitElements(wire, elements.length),
          elements.map((element) => Buffer.from(element as string)),
        );
      }),
    );
  });

  it('takes no half of a surrogate pair and nothing but strings and Uint8Arrays', () => {
    const writer = new BytesWriter(1);
    const halves = ['\ud800', 'a\udc00b', '\udc00\ud800', `${'long '.repeat(20)}\ud83d`];
    for (const value of [...halves, 1, null, undefined, ['a'], new Int8Array(1), new ArrayBuffer(1)]) {
      assert.equal(writer.append(value), false);
    }
    assert.equal(writer.append(detach(Uint8Array.of(1))), false);
    assert.equal(writer.finish().length, 0);
    assert.ok(writer.append('\ud83d\ude00'));
    assert.equal(writer.finish().toString('utf8', 4), '😀');
  });

  it('is counted as cut where a length or an element ends too early', () => {
    const wire = write('abc', 'd');
    for (const length of [1, 3, 6, 8, 10, 11]) assert.equal(countElements(wire.subarray(0, length)), -1);
    assert.equal(countElements(wire.subarray(0, 7)), 1);
    assert.equal(countElements(Uint8Array.of(255, 255, 255, 255, 0)), -1);
    assert.equal(countElements(new Uint8Array(0)), 0);
  });

  it('is INTERNAL where a tensor has other elements than its shape says', () => {
    const isInternal = (error: unknown): boolean => error instanceof TritonError && error.code === 'INTERNAL';
    assert.throws(() => splitElements(write('a', 'b'), 3), isInternal);
    assert.throws(() => decodeElements(write('a', 'b'), 1), isInternal);
    assert.throws(() => splitElements(write('a', 'b').slice(0, 6), 2), isInternal);
  });

  it('splits into Buffers over one ArrayBuffer', () => {
    const wire = write('ab', 'c');
    for (const element of splitElements(wire, 2)) assert.equal(element.buffer, wire.buffer);
  });
});

describe('strings of BYTES elements', () => {
  it('keep NUL, a byte order mark and U+FFFD', () => {
    const texts = ['a\0b', '\ufeffc', '\ufffd', '', '日本'];
    const wire = write(...texts);
    assert.deepEqual(decodeElements(wire, 5), texts);
    assert.deepEqual(decodeTexts(splitElements(wire, 5)), texts);
  });

  it('are refused with their index where bytes are not UTF-8', () => {
    const invalid = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]];
    for (const bytes of invalid) {
      const wire = write('fine', Uint8Array.from(bytes));
      const expected = { code: 'INVALID_ARG', message: /element 1 is not UTF-8/ };
      assert.throws(() => decodeElements(wire, 2), expected);
      assert.throws(() => decodeTexts(splitElements(wire, 2)), expected);
    }
  });

  it('are refused where the caller has transferred their memory', () => {
    const wire = write('a', 'b');
    const elements = splitElements(wire, 2);
    detach(wire);
    assert.throws(() => decodeTexts(elements), { code: 'INVALID_ARG', message: /element 0 was transferred/ });
  });
});
