import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { datatypeNumber, datatypeOfNumber, datatypeSize } from '../../src/tensor/datatype.js';
import { elementTypes } from '../../src/tensor/elements.js';

describe('datatypes', () => {
  it('have the numbers of the table in both directions', () => {
    assert.equal(datatypeOfNumber.length, 15);
    for (const [datatype, number] of Object.entries(datatypeNumber)) {
      assert.equal(datatypeOfNumber[number], datatype);
    }
  });

  it('have the size of the elements of their arrays', () => {
    const sizes: Readonly<Record<string, number>> = datatypeSize;
    for (const [datatype, type] of Object.entries(elementTypes)) {
      assert.equal(type.create(1).BYTES_PER_ELEMENT, sizes[datatype]);
    }
  });
});
